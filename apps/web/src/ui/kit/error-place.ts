/** The frame in which an error page is shown, so that the reader can go on from there. */
import type { UserActor } from '@acp/contract';
import { countWaiting, findCompany, lastSequence } from '@acp/core';
import type { Tx } from '@acp/db';
import { isUuid } from '@acp/kernel';
import type { Request } from 'express';
import { roleIn } from '../../http/roles.ts';
import type { Counts } from './navigation.ts';

export interface ErrorPlace {
  company: { id: string; name: string };
  counts: Counts;
  cursor: number;
}

/**
 * The company named in the address, that of the referring page, or the user's only one. Null if none is known or it can't
 * be read: an error page must not fail.
 */
export async function errorPlace(
  tx: Tx,
  user: UserActor,
  request: Request,
  company_id = '',
): Promise<ErrorPlace | null> {
  const roles = Object.keys(user.roles);
  const named = [company_id, companyIn(request.path), companyIn(refererOf(request))];
  const only = roles.length === 1 ? roles : [];
  const id = [...named, ...only].find((each) => isUuid(each) && roleIn(user, each) !== undefined);
  if (id === undefined) return null;
  try {
    const company = await findCompany(tx, id);
    if (company === undefined) return null;
    const { approvals, inbox } = await countWaiting(tx, user, id);
    const cursor = await lastSequence(tx);
    return { company: { id, name: company.name }, counts: { approvals, inbox }, cursor };
  } catch {
    return null;
  }
}

const companyIn = (path: string): string => /^\/companies\/([^/]+)/.exec(path)?.[1] ?? '';

function refererOf(request: Request): string {
  const referer = request.get('referer') ?? '';
  return URL.canParse(referer) ? new URL(referer).pathname : '';
}
