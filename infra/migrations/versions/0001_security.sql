-- {app} and {dispatch} stand for the two login roles of the settings; the role that runs this owns the schema.

create function turnkeep_tenant() returns uuid language sql stable
    as $$ select nullif(current_setting('turnkeep.tenant', true), '')::uuid $$;

do $$
declare name text;
begin
    foreach name in array array[
        'tenant_policies', 'users', 'sessions', 'session_heads', 'turns', 'turn_keys', 'idempotency_keys',
        'batches', 'work', 'step_outputs', 'memories', 'memory_sources', 'memory_history', 'memory_vectors',
        'index_debts', 'condensed_entries', 'entities', 'memory_entities', 'slots', 'archive', 'failures',
        'erasures', 'tombstones'
    ] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format(
            'create policy own_tenant on %I to {app} using (tenant_id = turnkeep_tenant())'
            ' with check (tenant_id = turnkeep_tenant())', name);
        execute format('grant select, insert, update, delete on %I to {app}', name);
    end loop;

    -- Claiming is separate from content: these rows hold ids, times and counters only.
    foreach name in array array['session_heads', 'batches', 'work', 'index_debts'] loop
        execute format('create policy every_tenant on %I to {dispatch} using (true) with check (true)', name);
        execute format('grant select on %I to {dispatch}', name);
    end loop;
end $$;

grant usage on schema public to {app}, {dispatch};
grant update on work, index_debts to {dispatch};
grant select, update on tenant_service to {dispatch};
grant select on alembic_version to {app}, {dispatch};

-- Tables that are not a tenant's own stay out of the application's reach; a key is looked up by its id alone.
create function turnkeep_key(wanted text)
    returns table (tenant_id uuid, secret_sha256 bytea, scopes text[])
    language sql stable security definer set search_path = public
    as $$ select k.tenant_id, k.secret_sha256, k.scopes from api_keys k
          where k.key_id = wanted and k.revoked_at is null $$;
revoke all on function turnkeep_key(text) from public;
grant execute on function turnkeep_key(text) to {app};

-- Months are made ahead by upkeep. A month that already has rows in the default partition cannot be made:
-- they are counted by turnkeep_turns_unpartitioned(), which raises the alert.
create function turnkeep_make_months(ahead integer) returns integer
    language plpgsql security definer set search_path = public
    as $$
declare
    month date;
    made integer := 0;
    base text;
begin
    foreach base in array array['turns', 'archive'] loop
        for month in
            select generate_series(
                date_trunc('month', now()), date_trunc('month', now()) + make_interval(months => ahead), '1 month')
        loop
            if to_regclass(format('%s_%s', base, to_char(month, 'YYYYMM'))) is null then
                execute format('create table %I partition of %I for values from (%L) to (%L)',
                    base || '_' || to_char(month, 'YYYYMM'), base,
                    month::timestamptz, (month + interval '1 month')::timestamptz);
                made := made + 1;
            end if;
        end loop;
    end loop;
    return made;
end $$;
revoke all on function turnkeep_make_months(integer) from public;
grant execute on function turnkeep_make_months(integer) to {dispatch};

create function turnkeep_turns_unpartitioned() returns bigint
    language sql stable security definer set search_path = public
    as $$ select count(*) from turns_default $$;
revoke all on function turnkeep_turns_unpartitioned() from public;
grant execute on function turnkeep_turns_unpartitioned() to {dispatch};

select turnkeep_make_months(2);
