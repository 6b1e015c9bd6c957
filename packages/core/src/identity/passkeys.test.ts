import { expect, it } from '@jest/globals';
import { transaction } from '@acp/db';
import { actors, createUser, testDatabase } from '@acp/testkit';
import { addPasskey } from './passkeys.ts';

it('an account has twenty passkeys at most, also where more were begun at once', async () => {
  const { database } = await testDatabase();
  const actor = actors.user(await createUser(database.db));
  const add = async (name: string) => {
    const passkey = { name, credential_id: `${actor.user_id} ${name}`, public_key: 'key', counter: 0 };
    return transaction(database, async (tx) =>
      addPasskey(tx, actor, { ...passkey, transports: [], backed_up: false }),
    );
  };
  for (let n = 1; n <= 20; n += 1) await add(String(n));
  await expect(add('21')).rejects.toMatchObject({ kind: 'conflict' });
});
