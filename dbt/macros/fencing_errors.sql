{#- The errors by which a coordinator fences a commit, as a list of literals. -#}
{% macro fencing_errors() -%}
    {%- for error in var('fencing_errors') -%}'{{ error }}'{{ ', ' if not loop.last }}{%- endfor -%}
{%- endmacro %}
