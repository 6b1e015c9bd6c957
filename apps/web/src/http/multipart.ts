/** Reads a multipart body: fields into memory, files straight into the storage; a refused body leaves nothing behind. */
import { invalid, ServiceError, tooLarge } from '@acp/kernel';
import type { Request, Response } from 'express';
import type Multer from 'multer';
import type { StorageEngine } from 'multer';
import { callbackify } from 'node:util';
import { checkJson } from './json-body.ts';
import type { FilePart, Upload } from './upload.ts';

const MAX_FIELDS = 40;
const MAX_FIELD_BYTES = 1024 * 1024;
const MAX_FIELD_NAME_BYTES = 200;
/** Allowance for fields and boundaries on top of the files, in a body with a declared length. */
const FRAME_BYTES = 2 * 1024 * 1024;

const tooMuch: readonly string[] = [
  'LIMIT_FILE_SIZE',
  'LIMIT_FILE_COUNT',
  'LIMIT_PART_COUNT',
  'LIMIT_FIELD_COUNT',
  'LIMIT_FIELD_VALUE',
];

export function isMultipart(request: Request): boolean {
  return request.is('multipart') === 'multipart';
}

/** The text fields without empty ones, which forms send for absent values. On 400 or 413 the files must still be discarded. */
export async function readMultipart(
  request: Request,
  response: Response,
  upload: Upload,
): Promise<Record<string, unknown>> {
  if (Number(request.headers['content-length']) > upload.max_bytes + FRAME_BYTES) throw upload.tooMuch();
  const take = callbackify(async (file: FilePart) => upload.take(file));
  const engine: StorageEngine = {
    _handleFile: (_request, file, done) => take(file, (error) => done(error)),
    // The upload discards all of its files together.
    _removeFile: (_request, _file, done) => done(null),
  };
  const { default: multer } = await import('multer');
  const read = multer({
    storage: engine,
    limits: {
      files: upload.max_files,
      fields: MAX_FIELDS,
      fieldSize: Math.min(MAX_FIELD_BYTES, upload.max_bytes),
      fieldNameSize: MAX_FIELD_NAME_BYTES,
      fieldNestingDepth: 0,
    },
    defParamCharset: 'utf8',
  }).any();
  await new Promise<void>((resolve, reject) => {
    read(request, response, (error: unknown) => {
      if (error === undefined || error === null) resolve();
      else reject(publicError(error, multer, upload));
    });
  });
  const fields = { ...(request.body as Record<string, unknown>) };
  for (const [name, value] of Object.entries(fields)) if (value === '') delete fields[name];
  checkJson(fields, 0);
  upload.takeFields(fields);
  return fields;
}

/** Passes our own errors on; the parser's, which have no status, are the client's fault. */
function publicError(error: unknown, { MulterError }: typeof Multer, upload: Upload): Error {
  if (error instanceof ServiceError) return error;
  if (error instanceof MulterError)
    return tooMuch.includes(error.code)
      ? error.code === 'LIMIT_FILE_COUNT'
        ? upload.tooManyFiles()
        : tooLarge('payload too large')
      : invalid('malformed multipart body');
  if (error instanceof Error && isOfParser(error)) return invalid('malformed multipart body');
  return error instanceof Error ? error : new Error('the multipart parser failed', { cause: error });
}

const parserMessages = [
  /^Unexpected end of form$/,
  /^Malformed (?:part header|content type|urlencoded form)$/,
  /^Multipart: Boundary not found$/,
  /^Unsupported content type/,
  /^Missing Content-Type$/,
  /^Request (?:aborted|closed|error)$/,
  /^aborted$/,
];

const isOfParser = ({ message }: Error) => parserMessages.some((pattern) => pattern.test(message));
