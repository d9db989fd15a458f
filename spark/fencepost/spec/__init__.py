"""The specifications in ``spec/``: what TLC checks of them, and the tables of their READMEs."""
