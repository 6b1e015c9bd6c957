import { assertChosenPassword, findUser } from '@acp/core';
import type { UiContext } from '../kit/ui-routes.ts';

/** Checks the new password of an account. @throws invalid for one that is guessed first, such as its own name or address */
export async function assertPasswordFor(
  { tx }: Pick<UiContext, 'tx'>,
  user_id: string,
  password: string,
): Promise<void> {
  const user = await findUser(tx, user_id);
  await assertChosenPassword(tx, password, user ? [user.display_name, user.email] : []);
}
