-- Tenants and keys: the migration role writes them (command line), the application only looks a key up.

create table tenants (
    tenant_id  uuid primary key,
    name       text not null unique,
    created_at timestamptz not null default now()
);

create table api_keys (
    key_id        text primary key,
    tenant_id     uuid not null references tenants,
    secret_sha256 bytea not null,
    scopes        text[] not null,
    created_at    timestamptz not null default now(),
    revoked_at    timestamptz
);

create table tenant_policies (
    tenant_id  uuid primary key references tenants,
    policy     jsonb not null default '{}',
    updated_at timestamptz not null default now()
);

-- Who was served last, a row a tenant and step: claims go to the least recently served tenant.
create table tenant_service (
    tenant_id uuid not null references tenants,
    step      text not null,
    served_at timestamptz not null default 'epoch',
    primary key (step, tenant_id)
);

-- A customer. `user_key` is an HMAC of the tenant's own string, so what an erasure leaves names nobody.
create table users (
    tenant_id  uuid not null references tenants,
    user_key   uuid not null,
    user_id    text,
    epoch      integer not null default 0,
    version    bigint not null default 0,
    policy     jsonb not null default '{}',
    created_at timestamptz not null default now(),
    erased_at  timestamptz,
    primary key (tenant_id, user_key)
);

-- One conversation. Live while its own epoch is 0 and `user_epoch` is its user's: an erasure raises one of
-- the two, and the session id, used again, gets a new row with a new random key.
create table sessions (
    tenant_id   uuid not null,
    session_key uuid not null,
    session_id  text not null,
    user_key    uuid not null,
    user_epoch  integer not null,
    epoch       integer not null default 0,
    applied     bigint not null default 0,
    language    text,
    created_at  timestamptz not null default now(),
    closed_at   timestamptz,
    outcome     text,
    wrap_up     text,
    primary key (tenant_id, session_key),
    foreign key (tenant_id, user_key) references users
);
create unique index sessions_live_id on sessions (tenant_id, session_id) where epoch = 0;
create index sessions_of_user on sessions (tenant_id, user_key, created_at);

-- Apart from the session, so that accepting a turn never waits for a merge.
create table session_heads (
    tenant_id       uuid not null,
    session_key     uuid not null,
    next_seq        bigint not null default 1,
    due_at          timestamptz,
    triggered       boolean not null default false,
    flush_to        bigint not null default 0,
    close_requested boolean not null default false,
    pending_rounds  integer not null default 0,
    pending_tokens  integer not null default 0,
    tool_finished   boolean not null default false,
    last_budget     integer not null default 4000,
    fold_cap        integer,
    last_at         timestamptz not null default now(),
    primary key (tenant_id, session_key),
    foreign key (tenant_id, session_key) references sessions
);
create index session_heads_due on session_heads (due_at) where due_at is not null;

create table turns (
    tenant_id    uuid not null,
    session_key  uuid not null,
    sequence     bigint not null,
    accepted_at  timestamptz not null,
    turn_id      uuid not null,
    client_id    text,
    user_key     uuid not null,
    role         text not null,
    content      text not null,
    name         text,
    speaker      text,
    tool_calls   jsonb not null default '[]',
    tool_call_id text,
    images       jsonb not null default '[]',
    metadata     jsonb not null default '{}',
    tokens       integer not null,
    lane         text not null,
    created_at   timestamptz not null,
    state        text not null default 'pending',
    second_pass  text,
    primary key (tenant_id, session_key, sequence, accepted_at)
) partition by range (accepted_at);
create index turns_by_state on turns (tenant_id, state);
create index turns_waiting on turns (tenant_id, accepted_at) where state = 'pending';
create index turns_pending_of_user on turns (tenant_id, user_key, accepted_at) where state = 'pending';
create table turns_default partition of turns default;

-- Unpartitioned, because a unique constraint on a partitioned table must contain its month.
create table turn_keys (
    tenant_id   uuid not null,
    session_key uuid not null,
    client_id   text not null,
    body_hmac   bytea not null,
    sequence    bigint not null,
    primary key (tenant_id, session_key, client_id)
);

create table idempotency_keys (
    tenant_id  uuid not null,
    key_hmac   bytea not null,
    body_hmac  bytea not null,
    answer     jsonb not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, key_hmac)
);

create table batches (
    tenant_id     uuid not null,
    batch_id      uuid not null,
    kind          text not null,
    user_key      uuid not null,
    session_key   uuid,
    first         bigint not null,
    last          bigint not null,
    user_epoch    integer not null,
    session_epoch integer not null,
    generation    integer not null default 0,
    lane          text not null,
    state         text not null default 'open',
    report        jsonb not null default '{}',
    opened_at     timestamptz not null default clock_timestamp(),
    closed_at     timestamptz,
    primary key (tenant_id, batch_id)
);
create unique index batches_one_open on batches (tenant_id, session_key, kind)
    where state = 'open' and kind in ('live', 'close');
create index batches_of_session on batches (tenant_id, session_key, first);

-- A step of a batch that is owed. Ids, times and counters, nothing else: the dispatch role sees every row.
create table work (
    tenant_id   uuid not null,
    batch_id    uuid not null,
    step        text not null,
    user_key    uuid not null,
    needs       text[] not null,
    lane        text not null,
    state       text not null,
    due_at      timestamptz,
    rank_at     timestamptz,
    fence       bigint not null default 0,
    lease_until timestamptz,
    crashes     integer not null default 0,
    failures    integer not null default 0,
    error       text,
    started_at  timestamptz,
    finished_at timestamptz,
    primary key (tenant_id, batch_id, step),
    foreign key (tenant_id, batch_id) references batches
);
create index work_due on work (step, tenant_id, rank_at) where state = 'due';
create index work_leases on work (step, lease_until) where state = 'running';
create unique index work_one_merge_a_user on work (tenant_id, user_key)
    where step = 'merge' and state = 'running';

create table step_outputs (
    tenant_id      uuid not null,
    batch_id       uuid not null,
    step           text not null,
    output         jsonb not null,
    output_version integer not null,
    primary key (tenant_id, batch_id, step),
    foreign key (tenant_id, batch_id) references batches
);

create table memories (
    tenant_id      uuid not null,
    memory_id      uuid not null,
    user_key       uuid not null,
    user_epoch     integer not null,
    kind           text not null,
    category       text not null,
    text           text,
    language       text not null,
    trust          text not null,
    state          text not null,
    tier           text not null default 'hot',
    importance     real not null,
    pinned         boolean not null default false,
    wrong          boolean not null default false,
    edited         boolean not null default false,
    version        integer not null default 1,
    text_version   integer not null default 1,
    slot_subject   text,
    slot_attribute text,
    slot_value     text,
    entities       jsonb not null default '[]',
    metadata       jsonb not null default '{}',
    client_id      text,
    body_hmac      bytea,
    valid_from     timestamptz not null,
    valid_to       timestamptz,
    valid_seq      bigint not null default 0,
    merged_into    uuid,
    superseded_by  uuid,
    access_count   integer not null default 0,
    accessed_at    timestamptz,
    created_at     timestamptz not null default now(),
    updated_at     timestamptz not null default now(),
    primary key (tenant_id, memory_id),
    foreign key (tenant_id, user_key) references users
);
create index memories_of_user on memories (tenant_id, user_key, state, created_at);
create unique index memories_client_id on memories (tenant_id, user_key, user_epoch, client_id)
    where client_id is not null;

-- Where a memory came from. Its turn's key holds the month, so that the turn is found in one partition.
create table memory_sources (
    tenant_id     uuid not null,
    memory_id     uuid not null,
    session_key   uuid not null,
    session_epoch integer not null,
    sequence      bigint not null,
    accepted_at   timestamptz not null,
    turn_id       uuid not null,
    primary key (tenant_id, memory_id, session_key, sequence),
    foreign key (tenant_id, memory_id) references memories on delete cascade,
    foreign key (tenant_id, session_key) references sessions
);
create index memory_sources_of_turn on memory_sources (tenant_id, session_key, sequence);

create table memory_history (
    tenant_id uuid not null,
    change_id uuid not null,
    memory_id uuid not null,
    version   integer not null,
    actor     text not null,
    change    text not null,
    before    jsonb not null,
    at        timestamptz not null default clock_timestamp(),
    primary key (tenant_id, change_id),
    foreign key (tenant_id, memory_id) references memories on delete cascade
);
create index memory_history_of on memory_history (tenant_id, memory_id, at);

create table memory_vectors (
    tenant_id       uuid not null,
    memory_id       uuid not null,
    embedder        text not null,
    text_version    integer not null,
    vector          bytea not null,
    indexed_version integer not null default 0,
    primary key (tenant_id, memory_id, embedder),
    foreign key (tenant_id, memory_id) references memories on delete cascade
);

-- What the vector index still has to be told. No foreign key: a debt outlives the memory it deletes.
create table index_debts (
    tenant_id   uuid not null,
    memory_id   uuid not null,
    embedder    text not null,
    user_key    uuid not null,
    op          text not null,
    step        text not null,
    version     integer not null,
    lane        text not null,
    due_at      timestamptz not null default clock_timestamp(),
    fence       bigint not null default 0,
    lease_until timestamptz,
    failures    integer not null default 0,
    error       text,
    primary key (tenant_id, memory_id, embedder)
);
create index index_debts_due on index_debts (step, due_at);
create index index_debts_of_user on index_debts (tenant_id, user_key);

create table condensed_entries (
    tenant_id   uuid not null,
    session_key uuid not null,
    first       bigint not null,
    last        bigint not null,
    batch_id    uuid not null,
    entry       jsonb not null,
    created_at  timestamptz not null default clock_timestamp(),
    primary key (tenant_id, session_key, first),
    foreign key (tenant_id, session_key) references sessions
);

create table entities (
    tenant_id  uuid not null,
    user_key   uuid not null,
    kind       text not null,
    value      text not null,
    text       text not null,
    first_seen timestamptz not null,
    last_seen  timestamptz not null,
    primary key (tenant_id, user_key, kind, value),
    foreign key (tenant_id, user_key) references users
);

create table memory_entities (
    tenant_id uuid not null,
    memory_id uuid not null,
    user_key  uuid not null,
    kind      text not null,
    value     text not null,
    primary key (tenant_id, memory_id, kind, value),
    foreign key (tenant_id, memory_id) references memories on delete cascade,
    foreign key (tenant_id, user_key, kind, value) references entities
);
create index memory_entities_by_value on memory_entities (tenant_id, user_key, kind, value);

-- The memory that holds a slot now: one value at a time.
create table slots (
    tenant_id uuid not null,
    user_key  uuid not null,
    subject   text not null,
    attribute text not null,
    memory_id uuid not null,
    primary key (tenant_id, user_key, subject, attribute),
    foreign key (tenant_id, memory_id) references memories on delete cascade
);

create table archive (
    tenant_id   uuid not null,
    memory_id   uuid not null,
    user_key    uuid not null,
    archived_at timestamptz not null,
    memory      jsonb not null,
    primary key (tenant_id, memory_id, archived_at)
) partition by range (archived_at);
create table archive_default partition of archive default;

create table failures (
    tenant_id   uuid not null,
    failure_id  uuid not null,
    session_key uuid,
    sequence    bigint,
    batch_id    uuid not null,
    step        text not null,
    reason      text not null,
    error       text not null,
    crashes     integer not null,
    failures    integer not null,
    created_at  timestamptz not null default clock_timestamp(),
    resolved_at timestamptz,
    primary key (tenant_id, failure_id)
);
create index failures_of_turn on failures (tenant_id, session_key, sequence);

create table erasures (
    tenant_id    uuid not null,
    erasure_id   uuid not null,
    scope        text not null,
    state        text not null,
    requested_at timestamptz not null default clock_timestamp(),
    finished_at  timestamptz,
    receipt      jsonb not null default '{}',
    primary key (tenant_id, erasure_id)
);

create table tombstones (
    tenant_id  uuid not null,
    scope      text not null,
    scope_key  uuid not null,
    epoch      integer not null,
    erasure_id uuid not null,
    erased_at  timestamptz not null default clock_timestamp(),
    primary key (tenant_id, scope, scope_key, epoch)
);
