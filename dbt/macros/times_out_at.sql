{#- When a coordinator ends a transaction that its producer leaves open: never with the greatest timeout, which
    two-phase commit has (KIP-939). -#}
{% macro times_out_at(started_at, timeout_ms) -%}
timestamp_millis(unix_millis({{ started_at }}) + nullif({{ timeout_ms }}, {{ var('no_timeout_ms') }}))
{%- endmacro %}
