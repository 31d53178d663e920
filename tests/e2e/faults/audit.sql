-- Written by the database itself while faults strike; the product knows nothing of it.
CREATE SCHEMA audit;
CREATE TABLE audit.units (account_id uuid NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE TABLE audit.breaches (what text NOT NULL, run_id uuid NOT NULL);

CREATE FUNCTION audit.unit_spent() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit.units (account_id) VALUES (NEW.account_id);
    RETURN NULL;
END $$;
CREATE TRIGGER audit_unit AFTER INSERT ON public.quota_units
    FOR EACH ROW EXECUTE FUNCTION audit.unit_spent();

CREATE FUNCTION audit.run_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.lease_token IS NOT NULL AND NEW.lease_token IS NOT NULL
       AND NEW.lease_token <> OLD.lease_token AND OLD.lease_until > clock_timestamp() THEN
        INSERT INTO audit.breaches VALUES ('taken while its lease held', OLD.id);
    END IF;
    IF OLD.state IN ('succeeded', 'failed', 'cancelled') AND NEW.state <> OLD.state THEN
        INSERT INTO audit.breaches VALUES ('left its terminal state', OLD.id);
    END IF;
    IF NEW.last_seq NOT IN (OLD.last_seq, OLD.last_seq + 1) THEN
        INSERT INTO audit.breaches VALUES ('skipped an entry', OLD.id);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER audit_run AFTER UPDATE ON public.runs
    FOR EACH ROW EXECUTE FUNCTION audit.run_moved();
