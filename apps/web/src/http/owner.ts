import type { Actor } from '@acp/contract';
import { actorId } from '@acp/core';

/** Who shares what a request takes of this process: its company or, if it is about none, its caller. Null for strangers. */
export const ownerOf = ({ company_id, actor }: { company_id: string; actor: Actor }): string | null =>
  company_id || actorId(actor);
