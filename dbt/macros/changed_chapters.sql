{#- The condition on the rows of a model that is built or tested: those of the changed chapters and of all later ones.
    It is `none` if the whole model is built. -#}
{% macro changed_chapters(model_name) -%}
    {%- set since = var('changed_since') -%}
    {{ return(since.get(model_name) if since is mapping else none) }}
{%- endmacro %}

{#- The rows of a relation in the chapters that are built. A model's row may depend only on rows of its own chapter. -#}
{% macro in_changed_chapters(relation) -%}
    {%- set changed = changed_chapters(this.name) -%}
    {%- if changed -%}
        (select * from {{ relation }} where {{ changed }})
    {%- else -%}
        {{ relation }}
    {%- endif -%}
{%- endmacro %}
