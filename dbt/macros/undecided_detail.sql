{#- Why the decision about a request is unknown, in words, if the logs have the request and its states. `is_judged`:
   whether the judge has seen the request; `states`: how many states of the transactional id it may have met. -#}
{% macro undecided_detail(is_judged, states) -%}
    case
        when not {{ is_judged }} then 'the request has not been judged'
        when {{ states }} > 1 then concat('decided at one of ', {{ states }}, ' states of the id, whose answers differ')
        else 'the logs do not tell all of the state that the request met'
    end
{%- endmacro %}
