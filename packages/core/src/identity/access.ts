import type { CompanyRole, InstanceRole } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

export interface UserAccess {
  instance_role: InstanceRole;
  roles: Record<string, CompanyRole>;
}

/** The users' current access, by id; deactivated and unknown users are missing. One statement for all. */
export async function loadAccess(tx: Tx, user_ids: readonly string[]): Promise<Map<string, UserAccess>> {
  const { rows } = await tx.execute<{
    id: string;
    instance_role: InstanceRole;
    roles: UserAccess['roles'] | null;
  }>(sql`
    select u.id, u.instance_role, (select jsonb_object_agg(m.company_id, m.role) from memberships m
      join companies c on c.id = m.company_id and c.deleted_at is null where m.user_id = u.id) as roles
    from users u where u.is_active and u.id in (select jsonb_array_elements_text(${JSON.stringify(user_ids)}::jsonb)::uuid)`);
  return new Map(rows.map((row) => [row.id, { instance_role: row.instance_role, roles: row.roles ?? {} }]));
}
