{#- What a reason for being unknown means, or what would settle it (`part`); its own word where no text was handed over. -#}
{% macro reason_text(reason, part) -%}
    {%- set texts = var('unknown_reasons') -%}
    case {{ reason }}
        {%- for word, text in (texts.items() if texts is mapping else []) %}
        when '{{ word }}' then '{{ spark_literal(text[part]) }}'
        {%- endfor %}
        else {{ reason }}
    end
{%- endmacro %}
