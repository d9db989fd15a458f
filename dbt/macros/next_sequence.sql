{#- The sequence that follows another: after the largest int comes 0 again. -#}
{% macro next_sequence(sequence) -%}
    if({{ sequence }} = {{ var('max_sequence') }}, 0, {{ sequence }} + 1)
{%- endmacro %}
