{#- What a marked definition means, in the words of its specification; its own name where no text was handed over. -#}
{% macro definition_text(module, invariant) -%}
    {%- set texts = var('marked_definitions') -%}
    coalesce(
        {%- for key, text in (texts.items() if texts is mapping else []) %}
        case when concat({{ module }}, '.', {{ invariant }}) = '{{ spark_literal(key) }}' then '{{ spark_literal(text) }}' end,
        {%- endfor %}
        {{ invariant }}
    )
{%- endmacro %}

{#- What has happened where a marked definition is violated; that it is violated, where no words were handed over. -#}
{% macro violation_text(module, invariant) -%}
    {%- set texts = var('violated_definitions') -%}
    coalesce(
        {%- for key, text in (texts.items() if texts is mapping else []) %}
        case when concat({{ module }}, '.', {{ invariant }}) = '{{ spark_literal(key) }}' then '{{ spark_literal(text[:1] | upper ~ text[1:]) }}' end,
        {%- endfor %}
        concat({{ invariant }}, ' is violated')
    )
{%- endmacro %}

{#- Text as the inside of a Spark string literal: TLA+ is full of backslashes. -#}
{% macro spark_literal(text) -%}
    {{ text | replace('\\', '\\\\') | replace("'", "\\'") }}
{%- endmacro %}
