-- The guard in one statement: what happens inside one transaction, in the order of design/architecture.md.
-- It knows no rule beyond the guard's; what it met is returned as a row, never raised, so that a refusal found behind
-- the fence still commits the fence. Addresses come sorted; guards, changes and bounds name them by place, from 1.
CREATE OR REPLACE FUNCTION @schema@.commit_v1(
    p_tenant text, p_lock_timeout text, p_transaction_timeout text, p_clock bigint,
    p_scope text, p_generation bigint, p_token bigint, p_holder text,
    p_keys text[], p_ledgers text[], p_fingerprints bytea[],
    p_namespaces text[], p_ids text[],
    p_guard_entries int[], p_guard_places int[], p_guard_revisions bigint[], p_guard_sources boolean[],
    p_change_entries int[], p_change_places int[], p_change_reasons text[],
    p_kinds text[], p_texts text[], p_datas text[], p_attributes text[], p_createds bigint[], p_expireses bigint[],
    p_importances float8[], p_embeddings bytea[], p_digests bytea[], p_salts bytea[],
    p_sweep_namespace text, p_sweep_reason text, p_sweep_clause text, p_sweep_values text[],
    p_sweep_ids text[], p_sweep_revisions bigint[],
    p_trims boolean, p_bound_namespaces text[], p_bound_mosts int[], p_bound_ages bigint[],
    p_most_victims int, p_event_effects int,
    OUT overtaken boolean, OUT newest_generation bigint, OUT newest_token bigint,
    OUT met text[], OUT fingerprints bytea[], OUT statuses text[], OUT effects text[], OUT seqs bigint[],
    OUT ats bigint[], OUT tokens bigint[], OUT forgotten int[], OUT actuals bigint[], OUT excess int
) LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_entries int := cardinality(p_ledgers);
    v_named int := cardinality(p_ids);  -- places 1 .. v_named are the named heads, what comes behind was found here
    v_generation bigint; v_token bigint; v_holder text;
    v_seq bigint; v_last_at bigint; v_sealed boolean; v_found int := 0;
    v_ends timestamptz := statement_timestamp() + p_lock_timeout::interval;  -- of all waits for locks together
    v_now bigint; v_at bigint; v_newest bigint := 0;
    v_assumed bigint;  -- `at` of heads that were made whole, or NULL: then they are placeholders
    v_head @schema@.item; v_row record;
    v_left text; v_entry int; v_place int; v_change int; v_guard int; v_bound int; v_part int;
    v_status text[] := array_fill(NULL::text, ARRAY[v_entries]);
    -- the heads, by place, and how the commit leaves them
    h_open boolean[] := array_fill(false, ARRAY[cardinality(p_ids)]);  -- named by an entry that is not yet answered
    h_absent boolean[]; -- such an entry expects that it is not there
    h_put int[];        -- the change that an entry which is not yet answered puts there
    h_ordinal int[];    -- its place in the commit, when all others are made, too
    h_new boolean[];    -- made here
    h_namespace text[] := p_namespaces; h_id text[] := p_ids;
    h_live boolean[]; h_visible boolean[]; h_revision bigint[]; h_created bigint[];
    h_expires bigint[]; h_added_at bigint[]; h_added_ordinal int[];
    h_content int[];    -- the change that gave it its content
    h_changed boolean[];
    -- a sweep: the items that it ends, in order
    s_ids text[]; s_revisions bigint[]; s_createds bigint[]; s_expireses bigint[]; s_reasons text[];
    -- bounds
    v_new_namespaces text[] := '{}';
    v_cutoff bigint; v_new int; v_gone int; v_past int; v_shift int; v_live int; v_evict int; v_here int;
    v_candidates text[]; v_unlocked text[]; v_locked text[];
    v_victims int[] := '{}'; v_reasons text[] := '{}';
    -- effects: by entry as text, in order
    v_ordinal int := 0; v_last_put int; v_created bigint; v_commitment bytea; v_path int;
    v_paths text[] := '{}'; v_paths_text text;
    e_effects text[] := v_status; v_kind text; v_events int := 0; v_forgot int; v_closes boolean := false;
BEGIN
    v_kind := set_config('lock_timeout', p_lock_timeout, true);
    IF p_transaction_timeout IS NOT NULL THEN
        -- a client that is cut off between this call and the end of its message holds no row for long
        v_kind := set_config('transaction_timeout', p_transaction_timeout, true);
    END IF;
    overtaken := false;
    excess := 0;
    actuals := array_fill(0::bigint, ARRAY[cardinality(p_guard_places)]);
    met := v_status;
    fingerprints := array_fill(NULL::bytea, ARRAY[v_entries]);
    statuses := v_status;
    effects := v_status;
    seqs := array_fill(NULL::bigint, ARRAY[v_entries]);
    ats := seqs;
    tokens := seqs;
    forgotten := array_fill(0, ARRAY[v_entries]);

    IF p_scope IS NOT NULL THEN
        -- 0: a replay by the newest token is read, in one statement, and nothing is written; without the first of its
        -- keys it is none
        IF NOT ('forget' = ANY (p_ledgers) OR 'seal' = ANY (p_ledgers)) AND EXISTS (
            SELECT 1 FROM @schema@.ledger l WHERE l.tenant = p_tenant AND l.scope = p_scope AND l.key = p_keys[1])
        THEN
            FOR v_row IN
                SELECT k.place, r.fingerprint, r.status, r.effects, r.seq, r.at, r.token
                  FROM @schema@.scope s
                 CROSS JOIN unnest(p_keys) WITH ORDINALITY AS k (key, place)
                 CROSS JOIN LATERAL (
                     SELECT e.* FROM @schema@.ledger l
                       JOIN @schema@.event e ON e.tenant = l.tenant AND e.scope = l.scope AND e.seq = l.seq
                      WHERE l.tenant = p_tenant AND l.scope = p_scope AND l.key = k.key LIMIT 1) AS r
                 WHERE s.tenant = p_tenant AND s.scope = p_scope
                   AND s.generation = p_generation AND s.token = p_token
                   AND (p_holder IS NULL OR s.holder = p_holder)
            LOOP
                v_found := v_found + 1;
                met[v_row.place] := 'recorded';
                fingerprints[v_row.place] := v_row.fingerprint;
                statuses[v_row.place] := v_row.status;
                effects[v_row.place] := v_row.effects;
                seqs[v_row.place] := v_row.seq;
                ats[v_row.place] := v_row.at;
                tokens[v_row.place] := v_row.token;
            END LOOP;
            IF v_found = v_entries THEN
                RETURN;
            END IF;
            met := v_status;
        END IF;

        -- 1: the fence; an equal one is held without a new version of its row
        FOR v_part IN 1 .. 2 LOOP
            SELECT s.generation, s.token, s.holder, s.seq, s.last_at, s.sealed = 1
              INTO v_generation, v_token, v_holder, v_seq, v_last_at, v_sealed
              FROM @schema@.scope s WHERE s.tenant = p_tenant AND s.scope = p_scope FOR UPDATE;
            EXIT WHEN FOUND;
            INSERT INTO @schema@.scope (tenant, scope, generation, token, holder, seq, last_at, sealed)
            VALUES (p_tenant, p_scope, p_generation, p_token, p_holder, 0, 0, 0)
            ON CONFLICT (tenant, scope) DO NOTHING
            RETURNING p_generation, p_token, p_holder, 0, 0, false
                 INTO v_generation, v_token, v_holder, v_seq, v_last_at, v_sealed;
            EXIT WHEN FOUND;  -- or else somebody has made it meanwhile
        END LOOP;
        IF (p_generation, p_token) < (v_generation, v_token)
           OR ((p_generation, p_token) = (v_generation, v_token) AND p_holder <> v_holder)
        THEN
            newest_generation := v_generation;
            newest_token := v_token;
            overtaken := true;
            RETURN;
        END IF;
        IF (p_generation, p_token) > (v_generation, v_token) OR (v_holder IS NULL AND p_holder IS NOT NULL) THEN
            UPDATE @schema@.scope s
               SET generation = p_generation, token = p_token, holder = p_holder, lease_until = NULL  -- an older token's
             WHERE s.tenant = p_tenant AND s.scope = p_scope;
        END IF;
        IF v_sealed THEN
            FOR v_entry IN 1 .. v_entries LOOP
                met[v_entry] := CASE WHEN p_ledgers[v_entry] = 'seal' THEN 'forgot' ELSE 'closed' END;
            END LOOP;
            RETURN;
        END IF;

        -- 2: the ledger, in a statement of its own, which sees what was committed while the first one waited
        IF v_entries > 1 OR EXISTS (
            SELECT 1 FROM @schema@.ledger l WHERE l.tenant = p_tenant AND l.scope = p_scope AND l.key = p_keys[1])
        THEN
            FOR v_row IN
                SELECT k.place, r.fingerprint, r.status, r.effects, r.seq, r.at, r.token
                  FROM unnest(p_keys, p_ledgers) WITH ORDINALITY AS k (key, ledger, place)
                 CROSS JOIN LATERAL (
                     SELECT e.* FROM @schema@.ledger l
                       JOIN @schema@.event e ON e.tenant = l.tenant AND e.scope = l.scope AND e.seq = l.seq
                      WHERE l.tenant = p_tenant AND l.scope = p_scope AND l.key = k.key LIMIT 1) AS r
                 WHERE k.ledger IN ('record', 'look')
            LOOP
                v_status[v_row.place] := 'recorded';
                met[v_row.place] := 'recorded';
                fingerprints[v_row.place] := v_row.fingerprint;
                statuses[v_row.place] := v_row.status;
                effects[v_row.place] := v_row.effects;
                seqs[v_row.place] := v_row.seq;
                ats[v_row.place] := v_row.at;
                tokens[v_row.place] := v_row.token;
            END LOOP;
        END IF;
    END IF;

    -- 4: namespaces, in order, only with bounds; each lock has what is left of the time
    FOR v_bound IN 1 .. cardinality(p_bound_namespaces) LOOP
        v_left := greatest(1, extract(epoch FROM v_ends - clock_timestamp()) * 1000)::int || 'ms';
        v_kind := set_config('lock_timeout', v_left, true);
        INSERT INTO @schema@.namespace (tenant, namespace) VALUES (p_tenant, p_bound_namespaces[v_bound])
        ON CONFLICT (tenant, namespace) DO NOTHING;
        IF FOUND THEN
            v_new_namespaces := v_new_namespaces || p_bound_namespaces[v_bound];
        ELSE
            -- written: who waits for it on a snapshot finds it changed, and begins anew
            UPDATE @schema@.namespace n SET namespace = n.namespace
             WHERE n.tenant = p_tenant AND n.namespace = p_bound_namespaces[v_bound];
        END IF;
    END LOOP;

    -- 5: new heads in order, then all other named heads in order; where a guard expects none, a placeholder is what is
    -- locked (an entry that misses anything else changes nothing). A new head is made whole, as if nothing that is read
    -- from here on changed its entry or its time; where something else is named or counted, it is a placeholder
    FOR v_guard IN 1 .. cardinality(p_guard_places) LOOP
        IF v_status[p_guard_entries[v_guard]] IS NULL THEN
            v_place := p_guard_places[v_guard];
            h_open[v_place] := true;
            IF p_guard_revisions[v_guard] = 0 THEN
                h_absent[v_place] := true;
            END IF;
        END IF;
    END LOOP;
    FOR v_change IN 1 .. cardinality(p_change_places) LOOP
        IF v_status[p_change_entries[v_change]] IS NULL THEN
            v_place := p_change_places[v_change];
            IF p_change_reasons[v_change] = 'stored' THEN
                h_put[v_place] := v_change;
                h_ordinal[v_place] := v_ordinal;
                v_ordinal := v_ordinal + 1;
            END IF;
            h_open[v_place] := true;
        END IF;
    END LOOP;
    IF p_scope IS NULL THEN
        -- the clock is read behind a lock that others can see, as that of the scope's row is: by it they know that
        -- something of this time is under way
        LOCK TABLE @schema@.item IN ROW SHARE MODE;
    END IF;
    v_now := coalesce(p_clock, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    IF cardinality(p_bound_namespaces) = 0 AND v_ordinal = cardinality(p_change_places)
       AND p_sweep_namespace IS NULL
    THEN
        v_assumed := greatest(v_now, coalesce(v_last_at, 0) + 1);
    END IF;
    v_ordinal := 0;
    FOR v_place IN 1 .. v_named LOOP
        v_change := h_put[v_place];
        CONTINUE WHEN v_change IS NULL AND h_absent[v_place] IS NOT TRUE;
        v_left := greatest(1, extract(epoch FROM v_ends - clock_timestamp()) * 1000)::int || 'ms';
        v_kind := set_config('lock_timeout', v_left, true);
        IF v_assumed IS NOT NULL AND v_change IS NOT NULL THEN
            INSERT INTO @schema@.item (tenant, namespace, id, live, revision, kind, attributes, created_at, updated_at,
                                       expires_at, importance, added_at, added_ordinal)
            VALUES (p_tenant, p_namespaces[v_place], p_ids[v_place], 1, 1, p_kinds[v_change], p_attributes[v_change],
                    coalesce(p_createds[v_change], v_now), v_assumed, p_expireses[v_change], p_importances[v_change],
                    v_assumed, h_ordinal[v_place])
            ON CONFLICT (tenant, namespace, id) DO NOTHING;
        ELSE
            INSERT INTO @schema@.item (tenant, namespace, id, live, revision, kind, attributes, created_at, updated_at,
                                       added_at, added_ordinal)
            VALUES (p_tenant, p_namespaces[v_place], p_ids[v_place], 0, 0, '', '{}', 0, 0, 0, 0)
            ON CONFLICT (tenant, namespace, id) DO NOTHING;
        END IF;
        h_new[v_place] := FOUND;
    END LOOP;
    FOR v_place IN 1 .. v_named LOOP
        h_live[v_place] := false;
        h_revision[v_place] := 0;
        CONTINUE WHEN h_new[v_place] OR NOT h_open[v_place];
        v_left := greatest(1, extract(epoch FROM v_ends - clock_timestamp()) * 1000)::int || 'ms';
        v_kind := set_config('lock_timeout', v_left, true);
        SELECT i.* INTO v_head FROM @schema@.item i
         WHERE i.tenant = p_tenant AND i.namespace = p_namespaces[v_place] AND i.id = p_ids[v_place] FOR UPDATE;
        IF p_clock IS NULL THEN
            v_assumed := NULL;  -- the clock is read again, behind this lock
        END IF;
        CONTINUE WHEN NOT FOUND;
        h_live[v_place] := v_head.live = 1;
        h_revision[v_place] := v_head.revision;
        h_created[v_place] := v_head.created_at;
        h_expires[v_place] := v_head.expires_at;
        h_added_at[v_place] := v_head.added_at;
        h_added_ordinal[v_place] := v_head.added_ordinal;
        v_newest := greatest(v_newest, v_head.updated_at);
    END LOOP;
    IF p_sweep_ids IS NOT NULL THEN
        -- the items that are listed, each as it is listed
        FOR v_place IN 1 .. cardinality(p_sweep_ids) LOOP
            v_left := greatest(1, extract(epoch FROM v_ends - clock_timestamp()) * 1000)::int || 'ms';
            v_kind := set_config('lock_timeout', v_left, true);
            SELECT i.* INTO v_head FROM @schema@.item i
             WHERE i.tenant = p_tenant AND i.namespace = p_sweep_namespace AND i.id = p_sweep_ids[v_place]
               AND i.live > 0 AND i.revision = p_sweep_revisions[v_place] FOR UPDATE;  -- no index knows these words
            IF NOT FOUND THEN
                v_status[1] := 'found';
                EXIT;
            END IF;
            s_createds[v_place] := v_head.created_at;
            s_expireses[v_place] := v_head.expires_at;
            v_newest := greatest(v_newest, v_head.updated_at);
        END LOOP;
        s_ids := p_sweep_ids;
        s_revisions := p_sweep_revisions;
    ELSIF p_sweep_namespace IS NOT NULL THEN
        -- the items that the clause accepts; it is text of this package's and names the caller's values by place.
        -- Who waits for a row that changes meanwhile has the clause decide anew, over the row as it then is, but over
        -- all other tables as they were: so it looks at nothing but heads
        v_left := greatest(1, extract(epoch FROM v_ends - clock_timestamp()) * 1000)::int || 'ms';
        v_kind := set_config('lock_timeout', v_left, true);
        EXECUTE 'SELECT array_agg(f.id), array_agg(f.revision), array_agg(f.created_at), array_agg(f.expires_at),
                        max(f.updated_at)
                   FROM (SELECT i.* FROM ' || @schema_text@ || '.item i
                          WHERE i.tenant = $1 AND i.namespace = $2 AND i.live = 1'
                || coalesce(' AND (' || p_sweep_clause || ')', '') || ' ORDER BY i.id FOR UPDATE) AS f'
           INTO s_ids, s_revisions, s_createds, s_expireses, v_newest
          USING p_tenant, p_sweep_namespace, p_sweep_values;
        v_newest := coalesce(v_newest, 0);
    END IF;
    IF v_assumed IS NULL THEN
        v_now := coalesce(p_clock, floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
    END IF;
    IF p_sweep_ids IS NOT NULL AND v_now >= ANY (s_expireses) THEN
        v_status[1] := 'found';
    END IF;
    FOR v_place IN 1 .. v_named LOOP
        h_visible[v_place] := h_live[v_place] AND coalesce(h_expires[v_place] > v_now, true);
    END LOOP;

    -- 6: guards before sources; a look changes nothing
    FOR v_guard IN 1 .. cardinality(p_guard_places) LOOP
        v_entry := p_guard_entries[v_guard];
        v_place := p_guard_places[v_guard];
        IF h_visible[v_place] THEN
            actuals[v_guard] := h_revision[v_place];
        END IF;
        CONTINUE WHEN v_status[v_entry] IN ('recorded', 'found');
        IF actuals[v_guard] <> coalesce(p_guard_revisions[v_guard], greatest(actuals[v_guard], 1)) THEN
            v_status[v_entry] := CASE WHEN p_guard_sources[v_guard] THEN 'superseded' ELSE 'found' END;
        END IF;
    END LOOP;
    FOR v_entry IN 1 .. v_entries LOOP
        IF v_status[v_entry] IS NULL THEN
            v_status[v_entry] := CASE WHEN p_ledgers[v_entry] = 'look' THEN 'found' ELSE 'stored' END;
        END IF;
        IF v_status[v_entry] = 'found' THEN
            met[v_entry] := 'found';
        END IF;
    END LOOP;

    -- 7: victims, counted before anything changes
    FOR v_change IN 1 .. cardinality(p_change_places) LOOP
        IF p_change_reasons[v_change] = 'stored' AND v_status[p_change_entries[v_change]] = 'stored' THEN
            v_last_put := greatest(v_last_put, p_change_entries[v_change]);
        END IF;
    END LOOP;
    IF p_trims THEN
        v_last_put := 1;
    END IF;
    IF v_last_put IS NOT NULL THEN
        FOR v_bound IN 1 .. cardinality(p_bound_namespaces) LOOP
            v_cutoff := v_now - p_bound_ages[v_bound];
            v_new := 0; v_gone := 0; v_shift := 0; v_here := 0;
            FOR v_change IN 1 .. cardinality(p_change_places) LOOP
                v_place := p_change_places[v_change];
                CONTINUE WHEN v_status[p_change_entries[v_change]] <> 'stored'
                           OR h_namespace[v_place] <> p_bound_namespaces[v_bound];
                v_here := v_here + 1;
                IF p_change_reasons[v_change] = 'stored' THEN
                    v_new := v_new + (NOT h_live[v_place])::int;
                ELSE
                    v_gone := v_gone + h_visible[v_place]::int;
                END IF;
                CONTINUE WHEN v_cutoff IS NULL;
                -- by how much the count of what has expired or is too old changes
                IF h_live[v_place] AND (h_created[v_place] < v_cutoff OR NOT h_visible[v_place]) THEN
                    v_shift := v_shift - 1;
                END IF;
                IF p_change_reasons[v_change] = 'stored' THEN
                    v_created := coalesce(p_createds[v_change],
                                          CASE WHEN h_visible[v_place] THEN h_created[v_place] ELSE v_now END);
                    IF v_created < v_cutoff OR p_expireses[v_change] <= v_now THEN
                        v_shift := v_shift + 1;
                    END IF;
                END IF;
            END LOOP;
            -- locked; counted and scanned again until the scan names no new one: others may have ended some meanwhile.
            -- What is counted is asked for in the order of an index: else a server that thinks that a namespace is much
            -- of the table reads the table for it
            v_locked := '{}';
            LOOP
                v_evict := 0;
                IF p_bound_mosts[v_bound] IS NOT NULL THEN
                    SELECT count(*) INTO v_live FROM (
                        SELECT 1 FROM @schema@.item i
                         WHERE i.tenant = p_tenant AND i.namespace = p_bound_namespaces[v_bound] AND i.live = 1
                         ORDER BY i.created_at, i.id
                         LIMIT p_bound_mosts[v_bound] + v_gone + p_most_victims + 1) AS counted;
                    v_evict := v_live + v_new - v_gone - p_bound_mosts[v_bound];
                END IF;
                IF v_cutoff IS NOT NULL THEN
                    SELECT count(*) INTO v_past FROM (
                        (SELECT 1 FROM @schema@.item i
                          WHERE i.tenant = p_tenant AND i.namespace = p_bound_namespaces[v_bound] AND i.live = 1
                            AND i.expires_at IS NOT NULL AND i.expires_at <= v_now
                          ORDER BY i.expires_at, i.id
                          LIMIT p_most_victims + 1 + v_here)
                        UNION ALL
                        (SELECT 1 FROM @schema@.item i
                          WHERE i.tenant = p_tenant AND i.namespace = p_bound_namespaces[v_bound] AND i.live = 1
                            AND (i.expires_at IS NULL OR i.expires_at > v_now) AND i.created_at < v_cutoff
                          ORDER BY i.created_at, i.id
                          LIMIT p_most_victims + 1 + v_here)) AS counted;
                    v_evict := greatest(v_evict, least(v_past, p_most_victims + 1 + v_here) + v_shift);
                END IF;
                IF p_trims THEN
                    v_evict := least(v_evict, p_most_victims);
                END IF;
                EXIT WHEN v_evict <= 0 OR v_evict > p_most_victims;
                SELECT array_agg(c.id) INTO v_candidates FROM (
                    (SELECT i.id FROM @schema@.item i
                      WHERE i.tenant = p_tenant AND i.namespace = p_bound_namespaces[v_bound] AND i.live = 1
                        AND i.expires_at IS NOT NULL AND i.expires_at <= v_now
                      ORDER BY i.expires_at, i.id LIMIT v_evict + v_here)
                    UNION ALL
                    (SELECT i.id FROM @schema@.item i
                      WHERE i.tenant = p_tenant AND i.namespace = p_bound_namespaces[v_bound] AND i.live = 1
                        AND (i.expires_at IS NULL OR i.expires_at > v_now)
                      ORDER BY i.created_at, i.id LIMIT v_evict + v_here)) AS c;
                SELECT array_agg(u.id ORDER BY u.id COLLATE "C") INTO v_unlocked FROM (
                    SELECT c.id FROM unnest(v_candidates) AS c (id)
                    EXCEPT SELECT l.id FROM unnest(v_locked) AS l (id)) AS u;
                EXIT WHEN v_unlocked IS NULL;
                FOR v_part IN 1 .. cardinality(v_unlocked) LOOP
                    v_left := greatest(1, extract(epoch FROM v_ends - clock_timestamp()) * 1000)::int || 'ms';
                    v_kind := set_config('lock_timeout', v_left, true);
                    PERFORM 1 FROM @schema@.item i
                      WHERE i.tenant = p_tenant AND i.namespace = p_bound_namespaces[v_bound]
                        AND i.id = v_unlocked[v_part] FOR UPDATE;
                END LOOP;
                v_locked := v_locked || v_unlocked;
            END LOOP;
            CONTINUE WHEN v_evict <= 0;
            IF v_evict > p_most_victims THEN
                excess := v_evict;
                v_victims := '{}';
                EXIT;
            END IF;
            -- chosen among the locked: what has come since, with whatever time, could still be changed by others
            FOR v_row IN
                SELECT * FROM (
                    SELECT CASE WHEN i.expires_at <= v_now THEN 0 ELSE 1 END AS class,
                           CASE WHEN i.expires_at <= v_now THEN i.expires_at ELSE i.created_at END AS age,
                           i.id, i.revision, i.created_at, i.expires_at, i.updated_at, 0 AS place
                      FROM unnest(v_locked) AS k (id)
                     CROSS JOIN LATERAL (
                         SELECT h.* FROM @schema@.item h
                          WHERE h.tenant = p_tenant AND h.namespace = p_bound_namespaces[v_bound] AND h.id = k.id
                            AND h.live > 0 LIMIT 1) AS i  -- as above: what is left is the key
                    UNION ALL
                    SELECT CASE WHEN p_expireses[c.change] <= v_now THEN 0 ELSE 1 END,
                           CASE WHEN p_expireses[c.change] <= v_now THEN p_expireses[c.change]
                                ELSE coalesce(p_createds[c.change],
                                              CASE WHEN h_visible[c.place] THEN h_created[c.place] ELSE v_now END) END,
                           h_id[c.place], 0, 0, p_expireses[c.change], 0, c.place
                      FROM unnest(p_change_places, p_change_reasons, p_change_entries)
                           WITH ORDINALITY AS c (place, reason, entry, change)
                     WHERE c.reason = 'stored' AND v_status[c.entry] = 'stored'
                       AND h_namespace[c.place] = p_bound_namespaces[v_bound]) AS candidate
                 WHERE candidate.place > 0 OR NOT EXISTS (
                     SELECT 1 FROM unnest(p_change_places, p_change_entries) AS n (place, entry)
                      WHERE v_status[n.entry] = 'stored' AND h_id[n.place] = candidate.id
                        AND h_namespace[n.place] = p_bound_namespaces[v_bound])
                 ORDER BY candidate.class, candidate.age, candidate.id COLLATE "C" LIMIT v_evict
            LOOP
                v_place := v_row.place;
                IF v_place = 0 THEN
                    v_named := v_named + 1;
                    v_place := v_named;
                    h_namespace[v_place] := p_bound_namespaces[v_bound];
                    h_id[v_place] := v_row.id;
                    h_live[v_place] := true;
                    h_revision[v_place] := v_row.revision;
                    h_created[v_place] := v_row.created_at;
                    v_newest := greatest(v_newest, v_row.updated_at);
                END IF;
                v_victims := v_victims || v_place;
                v_reasons := v_reasons || CASE WHEN v_row.expires_at <= v_now THEN 'expired' ELSE 'evicted' END;
            END LOOP;
        END LOOP;
    END IF;
    IF excess > 0 THEN
        FOR v_change IN 1 .. cardinality(p_change_places) LOOP
            v_entry := p_change_entries[v_change];
            IF p_change_reasons[v_change] = 'stored' AND v_status[v_entry] = 'stored' THEN
                v_status[v_entry] := 'found';
                met[v_entry] := 'excess';
            END IF;
        END LOOP;
    END IF;

    -- 8: at, after the last lock
    IF cardinality(v_victims) > 0 AND p_clock IS NULL THEN
        v_at := floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
    ELSE
        v_at := v_now;
    END IF;
    v_at := greatest(v_at, coalesce(v_last_at, 0) + 1, v_newest + 1);

    -- 9: revisions, entry by entry
    FOR v_change IN 1 .. cardinality(p_change_places) LOOP
        v_entry := p_change_entries[v_change];
        CONTINUE WHEN v_status[v_entry] <> 'stored';
        v_place := p_change_places[v_change];
        IF p_change_reasons[v_change] = 'stored' THEN
            v_created := coalesce(p_createds[v_change],
                                  CASE WHEN h_visible[v_place] THEN h_created[v_place] ELSE v_now END);
            IF NOT h_visible[v_place] THEN
                h_added_at[v_place] := v_at;
                h_added_ordinal[v_place] := v_ordinal;
            END IF;
            h_live[v_place] := true;
            h_created[v_place] := v_created;
            h_content[v_place] := v_change;
            h_revision[v_place] := h_revision[v_place] + 1;
            v_commitment := sha256(p_salts[v_change] || p_digests[v_change] || convert_to(v_created::text, 'UTF8'));
            INSERT INTO @schema@.revision (tenant, namespace, id, revision, kind, text, data, attributes, created_at,
                                           expires_at, importance, embedding, salt, at, ordinal, by, reason)
            VALUES (p_tenant, h_namespace[v_place], h_id[v_place], h_revision[v_place], p_kinds[v_change],
                    p_texts[v_change], p_datas[v_change], p_attributes[v_change], v_created, p_expireses[v_change],
                    p_importances[v_change], p_embeddings[v_change], p_salts[v_change], v_at, v_ordinal, p_holder,
                    'stored');
        ELSE
            CONTINUE WHEN NOT h_visible[v_place];
            h_live[v_place] := false;
            h_revision[v_place] := h_revision[v_place] + 1;
            INSERT INTO @schema@.revision (tenant, namespace, id, revision, created_at, salt, at, ordinal, by, reason)
            VALUES (p_tenant, h_namespace[v_place], h_id[v_place], h_revision[v_place], h_created[v_place], '', v_at,
                    v_ordinal, p_holder, p_change_reasons[v_change]);
        END IF;
        v_ordinal := v_ordinal + 1;
        h_changed[v_place] := true;
        v_path := array_position(v_paths, h_namespace[v_place]);
        IF v_path IS NULL THEN
            v_paths := v_paths || h_namespace[v_place];
            v_path := cardinality(v_paths);
        END IF;
        e_effects[v_entry] := coalesce(e_effects[v_entry] || ',', '') || '[' || v_path - 1 || ','
            || to_json(h_id[v_place]) || ',' || h_revision[v_place]
            || CASE WHEN p_change_reasons[v_change] = 'stored'
                    THEN ',"put","stored","' || encode(v_commitment, 'base64') || '"]'
                    ELSE ',"remove","' || p_change_reasons[v_change] || '",null]' END;
    END LOOP;

    -- then the victims, which belong to the last entry that puts, or to the one that trims
    FOR v_part IN 1 .. cardinality(v_victims) LOOP
        v_place := v_victims[v_part];
        h_live[v_place] := false;
        h_revision[v_place] := h_revision[v_place] + 1;
        h_changed[v_place] := true;
        INSERT INTO @schema@.revision (tenant, namespace, id, revision, created_at, salt, at, ordinal, by, reason)
        VALUES (p_tenant, h_namespace[v_place], h_id[v_place], h_revision[v_place], h_created[v_place], '', v_at,
                v_ordinal, p_holder, v_reasons[v_part]);
        v_ordinal := v_ordinal + 1;
        v_path := array_position(v_paths, h_namespace[v_place]);
        IF v_path IS NULL THEN
            v_paths := v_paths || h_namespace[v_place];
            v_path := cardinality(v_paths);
        END IF;
        e_effects[v_last_put] := coalesce(e_effects[v_last_put] || ',', '') || '[' || v_path - 1 || ','
            || to_json(h_id[v_place]) || ',' || h_revision[v_place] || ',"remove","' || v_reasons[v_part] || '",null]';
    END LOOP;

    -- heads, each once
    FOR v_place IN 1 .. v_named LOOP
        CONTINUE WHEN h_changed[v_place] IS NOT TRUE;
        v_change := h_content[v_place];
        CONTINUE WHEN h_new[v_place] AND v_assumed = v_at AND v_change = h_put[v_place] AND h_live[v_place]
                  AND h_revision[v_place] = 1 AND h_added_ordinal[v_place] = h_ordinal[v_place];
        IF v_change IS NULL THEN
            UPDATE @schema@.item i
               SET live = 0, revision = h_revision[v_place], updated_at = v_at, attributes = '{}', importance = NULL
             WHERE i.tenant = p_tenant AND i.namespace = h_namespace[v_place] AND i.id = h_id[v_place];
        ELSE
            UPDATE @schema@.item i
               SET live = h_live[v_place]::int, revision = h_revision[v_place], kind = p_kinds[v_change],
                   attributes = CASE WHEN h_live[v_place] THEN p_attributes[v_change] ELSE '{}' END,
                   created_at = h_created[v_place], updated_at = v_at, expires_at = p_expireses[v_change],
                   importance = CASE WHEN h_live[v_place] THEN p_importances[v_change] END,
                   added_at = h_added_at[v_place], added_ordinal = h_added_ordinal[v_place]
             WHERE i.tenant = p_tenant AND i.namespace = h_namespace[v_place] AND i.id = h_id[v_place];
        END IF;
    END LOOP;

    -- 10: events, the scope's order, the ledger
    v_paths_text := '[' || array_to_string(v_paths, ',') || ']';
    FOR v_entry IN 1 .. v_entries LOOP
        CONTINUE WHEN v_status[v_entry] IN ('recorded', 'found') OR p_sweep_namespace IS NOT NULL;
        v_kind := p_ledgers[v_entry];
        IF v_kind IN ('forget', 'seal') THEN
            DELETE FROM @schema@.ledger l
             WHERE l.tenant = p_tenant AND l.scope = p_scope AND (v_kind = 'seal' OR l.key = p_keys[v_entry]);
            GET DIAGNOSTICS v_forgot = ROW_COUNT;
            met[v_entry] := 'forgot';
            forgotten[v_entry] := v_forgot;
            v_closes := v_closes OR v_kind = 'seal';
            CONTINUE WHEN v_forgot = 0 AND v_kind = 'forget';
        ELSE
            met[v_entry] := 'done';
            statuses[v_entry] := v_status[v_entry];
            effects[v_entry] := '[' || v_paths_text || ',[' || coalesce(e_effects[v_entry], '') || ']]';
            seqs[v_entry] := v_seq + v_events + 1;
            ats[v_entry] := v_at;
            tokens[v_entry] := p_token;
            IF v_kind = 'record' THEN
                INSERT INTO @schema@.ledger (tenant, scope, key, seq)
                VALUES (p_tenant, p_scope, p_keys[v_entry], v_seq + v_events + 1);
            END IF;
            CONTINUE WHEN v_kind = 'change' AND e_effects[v_entry] IS NULL;
        END IF;
        v_events := v_events + 1;
        INSERT INTO @schema@.event (tenant, version, kind, scope, seq, token, actor, key, fingerprint, status,
                                    effects, at, generation)
        VALUES (p_tenant, 1, v_kind, p_scope, v_seq + v_events, p_token, p_holder, p_keys[v_entry],
                p_fingerprints[v_entry], CASE WHEN v_kind IN ('record', 'change') THEN v_status[v_entry] END,
                '[' || v_paths_text || ',[' || coalesce(e_effects[v_entry], '') || ']]', v_at, p_generation);
    END LOOP;
    IF v_events > 0 AND p_scope IS NOT NULL THEN
        UPDATE @schema@.scope s SET seq = v_seq + v_events, last_at = v_at, sealed = v_closes::int
         WHERE s.tenant = p_tenant AND s.scope = p_scope;
    END IF;
    IF v_events = 0 THEN
        DELETE FROM @schema@.namespace n WHERE n.tenant = p_tenant AND n.namespace = ANY (v_new_namespaces);
    END IF;
    FOR v_place IN 1 .. cardinality(p_ids) LOOP
        IF h_new[v_place] AND h_changed[v_place] IS NOT TRUE THEN
            DELETE FROM @schema@.item i
             WHERE i.tenant = p_tenant AND i.namespace = p_namespaces[v_place] AND i.id = p_ids[v_place];
        END IF;
    END LOOP;

    -- a sweep stands alone: any number of items, whole sets at a time
    IF p_sweep_namespace IS NOT NULL AND v_status[1] = 'stored' THEN
        SELECT array_agg(CASE WHEN f.expires_at <= v_now THEN 'expired' ELSE p_sweep_reason END ORDER BY f.place)
          INTO s_reasons FROM unnest(s_expireses) WITH ORDINALITY AS f (expires_at, place);
        INSERT INTO @schema@.revision (tenant, namespace, id, revision, created_at, salt, at, ordinal, by, reason)
        SELECT p_tenant, p_sweep_namespace, f.id, f.revision + 1, f.created_at, '', v_at, (f.place - 1)::int, p_holder,
               f.reason
          FROM unnest(s_ids, s_revisions, s_createds, s_reasons)
               WITH ORDINALITY AS f (id, revision, created_at, reason, place);
        UPDATE @schema@.item i
           SET live = 0, revision = f.revision + 1, updated_at = v_at, attributes = '{}', importance = NULL
          FROM unnest(s_ids, s_revisions) AS f (id, revision)
         WHERE i.tenant = p_tenant AND i.namespace = p_sweep_namespace AND i.id = f.id;
        INSERT INTO @schema@.event (tenant, version, kind, status, effects, at)
        SELECT p_tenant, 1, 'change', 'stored',
               '[[' || p_sweep_namespace || '],[' || string_agg(
                   '[0,' || to_json(f.id) || ',' || f.revision + 1 || ',"remove","' || f.reason || '",null]',
                   ',' ORDER BY f.place) || ']]', v_at
          FROM unnest(s_ids, s_revisions, s_reasons) WITH ORDINALITY AS f (id, revision, reason, place)
         GROUP BY (f.place - 1) / p_event_effects
         ORDER BY (f.place - 1) / p_event_effects;
        met[1] := 'done';
        statuses[1] := 'stored';
        ats[1] := v_at;
        SELECT '[[' || p_sweep_namespace || '],[' || coalesce(string_agg(
                   '[0,' || to_json(f.id) || ',' || f.revision + 1 || ',"remove","' || f.reason || '",null]',
                   ',' ORDER BY f.place), '') || ']]'
          INTO v_kind
          FROM unnest(s_ids, s_revisions, s_reasons) WITH ORDINALITY AS f (id, revision, reason, place);
        effects[1] := v_kind;
    END IF;
END
$$;

-- Nobody may call it but its owner and who is told so; it runs with the rights of its caller.
REVOKE ALL ON FUNCTION @schema@.commit_v1(@types@) FROM PUBLIC;

-- Other releases had it with other parameters: it goes, and who was told so may call this one.
DO $$
DECLARE
    v_ours regprocedure := @schema_text@ || '.commit_v1(@types@)';
    v_theirs regprocedure; v_role regrole;
BEGIN
    FOR v_theirs IN
        SELECT p.oid FROM pg_proc p JOIN pg_proc o ON o.pronamespace = p.pronamespace AND o.proname = p.proname
         WHERE o.oid = v_ours AND p.oid <> v_ours
    LOOP
        FOR v_role IN
            SELECT a.grantee FROM pg_proc p CROSS JOIN aclexplode(p.proacl) AS a
             WHERE p.oid = v_theirs AND a.grantee NOT IN (0, p.proowner)
        LOOP
            EXECUTE 'GRANT EXECUTE ON FUNCTION ' || v_ours || ' TO ' || v_role;
        END LOOP;
        EXECUTE 'DROP FUNCTION ' || v_theirs;
    END LOOP;
END
$$;
