import type { Actor, Logo } from '@acp/contract';
import { checkLogoHeader, keepStorageKeys, setLogo } from '@acp/core';
import type { Services } from '../../http/services.ts';
import type { MemoryFile } from '../../http/upload.ts';

/**
 * Checks the header, then stores the file. Pixels are never decoded here: the image is served as it came, with its own type
 * and no other (nosniff). The previous file is deleted after the commit, or by the sweep. Throws `unsupported`.
 */
export async function storeLogo(
  { files, transaction }: Pick<Services, 'files' | 'transaction'>,
  actor: Actor,
  company_id: string,
  { bytes, filename, content_type: declared }: MemoryFile,
  theme: Logo['theme'] = 'light',
): Promise<Logo> {
  const content_type = checkLogoHeader(bytes, declared);
  return files.putBytes(['logos', company_id], bytes, { filename, content_type }, async (file) => {
    const { logo, former } = await transaction(async (tx) => {
      await keepStorageKeys(tx, [file.storage_key]);
      return setLogo(tx, actor, company_id, { ...file, theme });
    });
    await files.discard(former);
    return logo;
  });
}
