/**
 * The token of a project's external module (decisions 7.43): a worker shows it to the module that keeps the project's files,
 * and the module has it verified here. It is signed, not stored, and ends with the claim that it was created for.
 */
import type { ModuleTokenHolder, TaskPayload } from '@acp/contract';
import type { Tx } from '@acp/db';
import { isUuid, unauthenticated, type Vault } from '@acp/kernel';
import { sql } from 'drizzle-orm';

const PURPOSE = 'project-module-token';
const LIFETIME_SEC = 3600;

interface Claims {
  project_id: string;
  run_id: string;
  /** Unix seconds: an hour after the claim. */
  exp: number;
}

/** Undefined unless the project's files are kept by a module, and without an encryption key, which signs the token. */
export function moduleToken(
  vault: Vault | undefined,
  { project_id, project_file_backend, run_id }: TaskPayload,
  claimed_at: Date | null,
): string | undefined {
  if (!vault?.available || project_file_backend !== 'module' || !project_id || !claimed_at) return undefined;
  const exp = Math.floor(claimed_at.getTime() / 1000) + LIFETIME_SEC;
  const claims: Claims = { project_id, run_id, exp };
  const text = Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `${text}.${vault.sign(text, PURPOSE)}`;
}

/**
 * Who the token was created for. @throws unauthenticated if it was not issued here or has expired, or if its claim, its project
 * or its company is gone
 */
export async function verifyModuleToken(tx: Tx, vault: Vault, token: string): Promise<ModuleTokenHolder> {
  const claims = readClaims(vault, token);
  const { rows } = claims
    ? await tx.execute<{ company_id: string; agent_id: string }>(sql`
        select t.company_id, t.agent_id from remote_tasks t
        join heartbeat_runs r on r.id = t.heartbeat_run_id
        join projects p on p.id = ${claims.project_id} and p.company_id = t.company_id and p.deleted_at is null
        join companies c on c.id = t.company_id and c.deleted_at is null
        where t.heartbeat_run_id = ${claims.run_id} and t.status = 'claimed' and r.cancel_requested_at is null
          and floor(extract(epoch from t.claimed_at)) + ${LIFETIME_SEC} = ${claims.exp}
          and clock_timestamp() < to_timestamp(${claims.exp})`)
    : { rows: [] };
  const [found] = rows;
  if (!claims || !found) throw unauthenticated('invalid project module token');
  const { project_id, run_id, exp } = claims;
  return { ...found, project_id, run_id, expires_at: new Date(exp * 1000) };
}

function readClaims(vault: Vault, token: string): Claims | undefined {
  const [text = '', signed = '', ...more] = token.split('.');
  if (more.length > 0 || !vault.isSigned(text, signed, PURPOSE)) return undefined;
  const claims = JSON.parse(Buffer.from(text, 'base64url').toString()) as Claims;
  return isUuid(claims.project_id) && isUuid(claims.run_id) ? claims : undefined;
}
