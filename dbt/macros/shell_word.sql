{#- Text as one word of a POSIX shell, whatever is in it. -#}
{% macro shell_word(text) -%}
    concat('\'', replace({{ text }}, '\'', '\'\\\'\''), '\'')
{%- endmacro %}
