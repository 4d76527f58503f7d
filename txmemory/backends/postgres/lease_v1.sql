-- Claims in one statement, as txmemory/rules/leasing.py judges them and txmemory/backends/leasing.py carries them out.
-- The row of the scope is locked before the clock is read; what is refused changes nothing, not even an empty row.
CREATE OR REPLACE FUNCTION @schema@.lease_v1(
    p_tenant text, p_lock_timeout text, p_transaction_timeout text, p_clock bigint, p_lease text, p_scope text,
    p_generation bigint, p_token bigint, p_holder text, p_ttl bigint, p_lapsed bigint, p_timeline boolean,
    p_claim_token_most bigint, p_token_most bigint,
    OUT met text, OUT generation bigint, OUT token bigint, OUT holder text, OUT until bigint
) LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_row @schema@.scope; v_there boolean; v_ignored text;
    v_now bigint; v_at bigint; v_timeline bigint; v_elsewhere boolean := false; v_event boolean := true;
BEGIN
    v_ignored := set_config('lock_timeout', p_lock_timeout, true);
    IF p_transaction_timeout IS NOT NULL THEN
        v_ignored := set_config('transaction_timeout', p_transaction_timeout, true);
    END IF;
    IF p_lease = 'reset' OR (p_lease = 'claim' AND p_lapsed IS NULL) THEN
        INSERT INTO @schema@.scope (tenant, scope, generation, token, seq, last_at, sealed)
        VALUES (p_tenant, p_scope, 0, 0, 0, 0, 0)
        ON CONFLICT (tenant, scope) DO NOTHING;
    END IF;
    SELECT s.* INTO v_row FROM @schema@.scope s WHERE s.tenant = p_tenant AND s.scope = p_scope FOR UPDATE;
    v_there := FOUND;
    v_now := coalesce(p_clock, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    generation := v_row.generation;
    token := v_row.token;
    holder := v_row.holder;
    until := v_row.lease_until;

    IF p_lease = 'renew' THEN
        met := CASE
            WHEN NOT v_there OR (p_generation, p_token) > (v_row.generation, v_row.token) THEN 'unheld'
            WHEN (p_generation, p_token) < (v_row.generation, v_row.token) OR p_holder <> v_row.holder THEN 'overtaken'
            WHEN v_row.sealed = 1 THEN 'closed'
            WHEN v_row.lease_until IS NULL OR p_holder IS DISTINCT FROM v_row.holder THEN 'unheld'
            END;
        IF met IS NOT NULL THEN
            RETURN;
        END IF;
        met := 'granted';
        until := v_now + p_ttl;
        v_event := false;
    ELSIF p_lease = 'release' THEN
        met := CASE WHEN v_there AND (p_generation, p_token) = (v_row.generation, v_row.token)
                     AND p_holder IS NOT DISTINCT FROM v_row.holder THEN 'released' ELSE 'stale' END;
        IF met = 'stale' OR v_row.lease_until IS NULL OR v_row.sealed = 1 THEN
            RETURN;  -- it is over, as an earlier attempt may have made it
        END IF;
        until := NULL;
    ELSIF p_lease = 'reset' THEN
        IF v_row.generation = p_token_most THEN
            met := 'overtaken';
            RETURN;
        END IF;
        met := 'raised';
        generation := v_row.generation + 1;
        token := 0;
        holder := NULL;
        until := NULL;
    ELSE
        IF v_there AND v_row.sealed = 1 THEN
            met := 'closed';
            RETURN;
        END IF;
        -- one's own live claim is what an earlier attempt was granted, whose answer was lost
        IF p_lapsed IS NOT NULL AND (v_row.lease_until IS NULL OR (v_row.lease_until > v_now - p_lapsed AND
           (v_row.lease_until <= v_now OR p_holder IS DISTINCT FROM v_row.holder))) THEN
            met := 'withheld';
            RETURN;
        END IF;
        IF p_timeline THEN
            -- it changes when a standby is promoted, and not when a server recovers by itself
            v_timeline := ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint;
            v_elsewhere := v_row.timeline IS NOT NULL AND v_row.timeline <> v_timeline;
        END IF;
        IF v_row.lease_until > v_now AND p_holder IS DISTINCT FROM v_row.holder THEN
            met := 'withheld';
            RETURN;
        END IF;
        IF v_row.lease_until > v_now AND NOT v_elsewhere THEN
            met := 'granted';
            until := greatest(v_row.lease_until, v_now + p_ttl);
            v_event := false;
        ELSE
            IF (v_row.token >= p_claim_token_most AND NOT v_elsewhere)
               OR (v_elsewhere AND v_row.generation = p_token_most)
            THEN
                met := 'overtaken';
                RETURN;
            END IF;
            met := 'granted';
            generation := v_row.generation + v_elsewhere::int;
            token := CASE WHEN v_elsewhere THEN 1 ELSE v_row.token + 1 END;
            holder := p_holder;
            until := v_now + p_ttl;
            IF p_timeline THEN
                v_row.timeline := v_timeline;  -- it stays when the lease ends: a failover may come behind a release
            END IF;
        END IF;
    END IF;

    v_at := CASE WHEN v_event THEN greatest(v_now, v_row.last_at + 1) ELSE v_row.last_at END;
    UPDATE @schema@.scope s
       SET generation = lease_v1.generation, token = lease_v1.token, holder = lease_v1.holder, lease_until = until,
           timeline = v_row.timeline, seq = s.seq + v_event::int, last_at = v_at
     WHERE s.tenant = p_tenant AND s.scope = p_scope;
    IF v_event THEN
        INSERT INTO @schema@.event (tenant, version, kind, scope, seq, token, actor, effects, at, generation)
        VALUES (p_tenant, 1, p_lease, p_scope, v_row.seq + 1, lease_v1.token,
                CASE WHEN p_lease = 'reset' THEN p_holder ELSE lease_v1.holder END, '[[],[]]', v_at,
                lease_v1.generation);
    END IF;
END
$$;

REVOKE ALL ON FUNCTION @schema@.lease_v1(@lease_types@) FROM PUBLIC;

-- Who was told that it may commit may claim, also where an older release told it.
DO $$
DECLARE
    v_commit regprocedure := @schema_text@ || '.commit_v1(@types@)';
    v_ours regprocedure := @schema_text@ || '.lease_v1(@lease_types@)';
    v_role regrole;
BEGIN
    FOR v_role IN
        SELECT a.grantee FROM pg_proc p CROSS JOIN aclexplode(p.proacl) AS a
         WHERE p.oid = v_commit AND a.grantee NOT IN (0, p.proowner)
    LOOP
        EXECUTE 'GRANT EXECUTE ON FUNCTION ' || v_ours || ' TO ' || v_role;
    END LOOP;
END
$$;
