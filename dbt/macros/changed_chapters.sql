{#- What chooses the rows of the chapters from which on a model is built, or tested; none where that is all of it. -#}
{% macro changed_chapters(model_name) -%}
    {%- set since = var('changed_since') -%}
    {{ return(since.get(model_name) if since is mapping else none) }}
{%- endmacro %}

{#- The rows of a relation that lie in the chapters which are built: all that a row rests on lies in its own. -#}
{% macro in_changed_chapters(relation) -%}
    {%- set changed = changed_chapters(this.name) -%}
    {%- if changed -%}
        (select * from {{ relation }} where {{ changed }})
    {%- else -%}
        {{ relation }}
    {%- endif -%}
{%- endmacro %}
