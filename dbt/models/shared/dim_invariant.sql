-- Each marked definition of the specifications that is judged.
select
    invariant,
    max(module) as module,
    {{ protocol_of('max(module)') }} as protocol,
    max(kind) as kind,
    max(severity) as severity,
    max(description) as description
from {{ ref('fct_invariant_coverage') }}
group by invariant
