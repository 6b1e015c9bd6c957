/** Variables for the license (decisions 1). */
import { Type } from 'typebox';

export const licenseVariables = {
  SERVICE_LICENSE_KEY: Type.Optional(
    Type.String({
      secret: true,
      default_note: 'unset: a trial of 30 days from the first boot, then read-only',
      description: 'License of this instance; `npm run ctl -- license install` stores one instead.',
    }),
  ),
  SERVICE_LICENSE_PUBLIC_KEY: Type.Optional(
    Type.Unsafe<Buffer>({
      format: 'encryption-key',
      description: 'Ed25519 key that licenses are verified with; a release brings its vendor’s.',
    }),
  ),
};
