{# Whether a row is true at the end of the logs: null if a hole follows it. ``holes``: a hole that begins where the row
   ends, joined from holes_of_groups or holes_of_logs. #}
{% macro is_current(to_position, holes) -%}
    if({{ holes }}.from_position is null, {{ to_position }} is null, null)
{%- endmacro %}

{# A row for each hole in what is known of a group's life: cluster, group_id, life, from_position. #}
{% macro holes_of_groups() -%}
    (
        select distinct cluster, group_id, life, from_position
        from {{ in_changed_chapters(source('silver', 'coverage')) }}
        where not covered
    )
{%- endmacro %}

{# A row for each hole in a log of transactional ids: cluster, partition_key, from_position. #}
{% macro holes_of_transaction_logs() -%}
    (
        select distinct cluster, partition_key, from_position
        from {{ source('silver', 'log_coverage') }}
        where not covered and topic = '__transaction_state'
    )
{%- endmacro %}
