"""The findings of the last audit as a folder of static pages, which need no server and no other host."""
