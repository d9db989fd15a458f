{#- A digest of several texts. Each is digested first, so that no two lists of texts have one digest whatever is in them. -#}
{% macro digest_of(texts) -%}
    sha2(
        concat(
            {%- for text in texts %}
            coalesce(sha2({{ text }}, 256), '-'){{ ',' if not loop.last }}
            {%- endfor %}
        ),
        256
    )
{%- endmacro %}
