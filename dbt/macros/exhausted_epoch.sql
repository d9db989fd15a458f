{#- The epoch from which a coordinator gives out a new producer id (TransactionMetadata.isProducerEpochExhausted). -#}
{% macro exhausted_epoch() -%}
    32766
{%- endmacro %}
