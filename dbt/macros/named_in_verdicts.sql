{#- What a verdict is about: two expressions of a WITH, `texts` and `placed`, which add the names in scope and evidence to
the rows of `relation`, which has the columns of the episodes. -#}
{% macro named_in_verdicts(relation) %}
texts as (
    select
        *,
        get_json_object(scope, '$.application_id') as application_id,
        coalesce(get_json_object(scope, '$.group_id'), get_json_object(evidence, '$.group_id')) as group_id,
        nullif(get_json_object(scope, '$.topic'), '__transaction_state') as scope_topic,
        get_json_object(scope, '$.partition') as scope_partition,
        -- the metadata log is no partition that anybody writes to
        nullif(get_json_object(scope, '$.log'), 'AAAAAAAAAAAAAAAAAAAAAQ:__cluster_metadata-0') as log,
        get_json_object(evidence, '$.topic') as topic,
        get_json_object(evidence, '$.partition') as partition,
        get_json_object(evidence, '$.transaction_partition') as transaction_partition,
        get_json_object(evidence, '$.transactional_id') as transactional_id,
        coalesce(
            get_json_object(evidence, '$.producer_id'), get_json_object(evidence, '$.provided_id')
        ) as producer_id,
        get_json_object(evidence, '$.request_id') as request_id,
        get_json_object(evidence, '$.client_id') as client_id,
        get_json_object(evidence, '$.client_host') as client_host,
        get_json_object(evidence, '$.connection') as connection,
        nullif(get_json_object(evidence, '$.member_id'), '') as member_id,
        cast(get_json_object(evidence, '$.broker_id') as int) as broker_id,
        get_json_object(evidence, '$.instance') as instance,
        coalesce(get_json_object(evidence, '$.broker_error'), 'NONE') as error
    from {{ relation }}
),

-- a partition is named by the record that is cited, else by the log whose positions the definition is judged
-- over
placed as (
    select
        *,
        {%- for part in ['topic', 'partition'] %}
        case
            when topic is not null then {{ part }}
            when transaction_partition is not null
                then nullif(regexp_extract(transaction_partition, '^(.*):([0-9]+)$', {{ loop.index }}), '')
            when scope_topic is not null then scope_{{ part }}
            when application_id is null
                then nullif(regexp_extract(log, '^[^:]*:(.*)-([0-9]+)$', {{ loop.index }}), '')
        end as at_{{ part }},
        {%- endfor %}
        coalesce(client_host, {{ host_of('connection') }}) as host
    from texts
)
{% endmacro %}
