import type { FileRule } from '@acp/contract';
import type { Call } from './call.ts';
import { readBody, readFields } from './input.ts';
import { LARGE_BODY, roomForBody } from './memory-places.ts';
import { isMultipart, readMultipart } from './multipart.ts';
import { ownerOf, Upload } from './upload.ts';

/** Reads the body in whichever form it was sent, then acts. @throws rate_limited for one of too many large bodies */
export async function withBody<T>(call: Call, act: () => Promise<T>): Promise<T> {
  const { mounted, request, services, company_id, actor } = call;
  const leave = roomForBody({ row: mounted.row, request, services, company_id, actor });
  try {
    return await receive(call, act, leave);
  } finally {
    leave();
  }
}

async function receive<T>(call: Call, act: () => Promise<T>, leave: () => void): Promise<T> {
  const { files } = call.mounted.row;
  if (files && isMultipart(call.request)) return withFiles(call, files, act);
  call.body = await readBody(call.mounted, call.request, call.response);
  // One without a declared length counted as a large one until now.
  if (call.body instanceof Uint8Array && call.body.byteLength <= LARGE_BODY) leave();
  return act();
}

/** Stores the bytes before the transaction begins; those that it does not keep are removed. */
async function withFiles<T>(call: Call, rule: FileRule, act: () => Promise<T>): Promise<T> {
  const { files, upload_limits: limits } = call.services;
  const upload = new Upload(rule, limits, files, ownerOf(rule, call));
  try {
    const fields = await readMultipart(call.request, call.response, upload);
    call.files = await upload.files();
    call.body = readFields(call.mounted, fields);
    return await act();
  } catch (error) {
    await upload.discard();
    throw error;
  }
}
