/** What a form says about the files that it takes; its script checks them before anything is sent. */
import type { UploadLimits } from '../../http/upload.ts';
import { sizeLimit } from './format.ts';
import { attributes, type Html } from './html.ts';
import { plural, t } from './language.ts';

export type FileLimits = UploadLimits;

const largest = ({ attachment_bytes, upload_bytes }: FileLimits): number =>
  Math.min(attachment_bytes, upload_bytes);

/** Of files that are sent one by one. */
export const sizeOfFile = (limits: FileLimits): string => sizeLimit(largest(limits));

/** Of files that are sent together. */
export function limitsInWords(limits: FileLimits): string {
  const files = plural(limits.attachment_files, 'At most # file at once', 'At most # files at once');
  const [each, all] = [largest(limits), limits.upload_bytes];
  return each < all
    ? t`${files}, each of up to ${sizeLimit(each)}, in all ${sizeLimit(all)}.`
    : t`${files}, in all ${sizeLimit(all)}.`;
}

/** For the element that takes files and sends each by itself. */
export const limitsOfEach = (limits: FileLimits): Html =>
  attributes({
    'data-largest': largest(limits),
    'data-limits': t`files may have up to ${sizeOfFile(limits)}`,
  });

/** For the input whose files are sent with their form. */
export const limitsOfAll = (limits: FileLimits): Html =>
  attributes({
    'data-most': limits.attachment_files,
    'data-largest': largest(limits),
    'data-together': limits.upload_bytes,
    'data-limits': limitsInWords(limits),
  });
