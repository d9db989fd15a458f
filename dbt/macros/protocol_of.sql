{#- The name of the protocol whose specification a module of TLA+ is. -#}
{% macro protocol_of(module) -%}
    {%- set protocols = var('protocols_of_modules') -%}
    case {{ module }}
        {%- for name, protocol in (protocols.items() if protocols is mapping else []) %}
        when '{{ name }}' then '{{ protocol }}'
        {%- endfor %}
        else {{ module }}
    end
{%- endmacro %}
