{# Whether a commit belongs to a transaction that was open when a consumer asked for the offset of its partition, so that
   it was told of none. ``resets``: rows of fct_offset_resets; ``commits``: rows of silver.offset_commits, or of the mart
   of that name. #}
{% macro open_when_asked(resets, commits) -%}
    {{ resets }}.cluster = {{ commits }}.cluster
    and {{ resets }}.group_id = {{ commits }}.group_id
    and {{ resets }}.topic = {{ commits }}.topic
    and {{ resets }}.partition = {{ commits }}.partition
    and {{ commits }}.is_transactional
    and {{ commits }}.broker_error = 'NONE'
    and {{ resets }}.requested_at >= {{ commits }}.responded_at
    and (
        {{ resets }}.requested_at < {{ commits }}.transaction_ended_at
        or {{ commits }}.transaction_outcome = 'pending'
    )
{%- endmacro %}
