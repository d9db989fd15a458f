{#- Address of a connection's client, from what the request log calls the connection:
    <address of the broker>:<port>-<address of the client>:<port>-<numbers>. Null if it is called otherwise. -#}
{% macro host_of(connection) -%}
    nullif(regexp_extract({{ connection }}, '^.*:[0-9]+-(.*):[0-9]+(-[0-9]+)+$', 1), '')
{%- endmacro %}
