-- How often each marked definition was checked and exercised: what nothing exercised is not green.
select
    cluster,
    module,
    invariant,
    kind,
    severity,
    scopes,
    checked,
    exercised,
    holds,
    violated,
    `unknown`,
    unread,
    status,
    reason,
    since,
    {{ definition_text('module', 'invariant') }} as description
from {{ source('verdicts', 'coverage') }}
