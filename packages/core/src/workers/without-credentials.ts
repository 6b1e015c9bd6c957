/** A key, and the token of a project's module, which begins with `{"project_id":"` in base64. None is longer: linear time. */
const CREDENTIAL = /sk_[0-9a-f]{64}|eyJwcm9qZWN0X2lkIjoi[\w-]{1,200}\.[0-9a-f]{64}/g;

/** Only the run's worker knows its own key and token, so anything that looks like one of them is removed. */
export const withoutCredentials = (text: string): string => text.replace(CREDENTIAL, '[redacted]');
