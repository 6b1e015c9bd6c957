import type { Actor, Logo } from '@acp/contract';
import { checkLogoHeader, keepStorageKeys, setLogo } from '@acp/core';
import type { Services } from '../../http/services.ts';
import type { MemoryFile } from '../../http/upload.ts';
import { assertDecodes } from './logo-decoding.ts';

/**
 * Checks the header first, then that the pixels, if there are any, decode, then stores the file. The previous file is deleted after the
 * commit, or by the sweep. Throws `unsupported` for anything that is not a valid image.
 */
export async function storeLogo(
  { files, change }: Pick<Services, 'files' | 'change'>,
  actor: Actor,
  company_id: string,
  { bytes, filename, content_type: declared }: MemoryFile,
  theme: Logo['theme'] = 'light',
): Promise<Logo> {
  const { content_type, has_pixels } = checkLogoHeader(bytes, declared);
  if (has_pixels) await assertDecodes(company_id, bytes, content_type);
  return files.putBytes(['logos', company_id], bytes, { filename, content_type }, async (file) => {
    const { logo, former } = await change(company_id, async (tx) => {
      await keepStorageKeys(tx, [file.storage_key]);
      return setLogo(tx, actor, company_id, { ...file, theme });
    });
    await files.discard(former);
    return logo;
  });
}
