import { sql } from 'drizzle-orm';

/** Whether a statement's user `u` has an active second factor. */
export const hasSecondFactor = sql`(
  exists (select from user_totp t where t.user_id = u.id and t.confirmed_at is not null)
  or exists (select from passkeys p where p.user_id = u.id))`;

/**
 * Whether one is required of user `u`: by the instance, by one of the user's companies or, for instance admins, who can enter
 * every company, by any company.
 */
export const requiresSecondFactor = sql`(
  exists (select from instance_settings where key = 'require_second_factor' and value = 'true'::jsonb)
  or exists (select from memberships m join companies c on c.id = m.company_id
    where m.user_id = u.id and c.require_second_factor and c.deleted_at is null)
  or (u.instance_role = 'admin' and exists (
    select from companies c where c.require_second_factor and c.deleted_at is null)))`;
