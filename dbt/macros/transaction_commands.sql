{#- The partition as options of Kafka's tools. -#}
{% macro of_partition(topic, partition) -%}
    concat(
        ' --topic',
        -- what begins with a dash would be taken for an option
        if({{ topic }} like '-%', '=', ' '),
        {{ shell_word(topic) }},
        ' --partition ',
        {{ partition }}
    )
{%- endmacro %}

{#- Ends the transaction that begins at an offset of a partition. -#}
{% macro abort_command(topic, partition, first_offset) -%}
    concat(
        'kafka-transactions.sh --bootstrap-server BROKER:9092 abort',
        {{ of_partition(topic, partition) }},
        ' --start-offset ',
        {{ first_offset }}
    )
{%- endmacro %}

{#- Shows the records from one offset to another one, committed or not, with all that a copy needs. Markers have
    offsets, too, and are not shown: without a timeout it would wait for as many records more. -#}
{% macro copy_command(topic, partition, first_offset, last_offset) -%}
    concat(
        'kafka-console-consumer.sh --bootstrap-server BROKER:9092 --isolation-level read_uncommitted',
        {{ of_partition(topic, partition) }},
        ' --offset ',
        {{ first_offset }},
        ' --max-messages ',
        {{ last_offset }} - {{ first_offset }} + 1,
        ' --timeout-ms 10000 --property print.offset=true --property print.timestamp=true',
        ' --property print.key=true --property print.headers=true'
    )
{%- endmacro %}

{#- Tells what its coordinator has of a transactional id. -#}
{% macro describe_command(transactional_id) -%}
    concat(
        'kafka-transactions.sh --bootstrap-server BROKER:9092 describe --transactional-id',
        if({{ transactional_id }} like '-%', '=', ' '),
        {{ shell_word(transactional_id) }}
    )
{%- endmacro %}
