{#- The epoch from which a coordinator gives out a new producer id (TransactionMetadata.isProducerEpochExhausted). -#}
{% macro exhausted_epoch() -%}
    {{ (var('max_epoch') | int) - 1 }}
{%- endmacro %}
