import { generateKeyPairSync } from 'node:crypto';
import type { Adapter, AdapterPayload, JWKS } from 'oidc-provider';

/** The storage of one provider instance; the library's quick-start memory is shared by the whole process. */
export function memoryAdapter(): (model: string) => Adapter {
  const stored = new Map<string, AdapterPayload>();
  const find = (match: (payload: AdapterPayload) => boolean) => [...stored.values()].find(match);
  return (model) => {
    const keyOf = (id: string) => `${model}:${id}`;
    return {
      async upsert(id, payload) {
        stored.set(keyOf(id), payload);
      },
      async find(id) {
        return stored.get(keyOf(id));
      },
      async findByUid(uid) {
        return find((payload) => payload.uid === uid);
      },
      async findByUserCode(code) {
        return find((payload) => payload.userCode === code);
      },
      async consume(id) {
        const payload = stored.get(keyOf(id));
        if (payload) payload.consumed = Math.floor(Date.now() / 1000);
      },
      async destroy(id) {
        stored.delete(keyOf(id));
      },
      async revokeByGrantId(grantId) {
        for (const [key, payload] of stored) if (payload.grantId === grantId) stored.delete(key);
      },
    };
  };
}

/** Generates a signing key. */
export function signingKeys(): JWKS {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return { keys: [{ ...privateKey.export({ format: 'jwk' }), kty: 'RSA', use: 'sig' }] };
}
