-- How often each marked definition was unknown, and why.
select
    cluster,
    module,
    invariant,
    reason,
    `unknown`,
    {{ reason_text('reason', 'means') }} as meaning,
    {{ reason_text('reason', 'settles') }} as settled_by
from {{ source('verdicts', 'unknown_reasons') }}
