import type { IncomingMessage } from 'node:http';
import { JsonBound, parseBoundedJson, STORABLE_WORK } from '../../core/bounded-json';
import { asArray, asObject, asString, type JsonObject } from '../json';
import { explainStatus, KubeError, type KubeCause } from './kube-error';
import { ListSplitter } from './list-splitter';

/** Longest body: one object, or the rest of a list whose items were taken one by one. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;
/** Longest event: one object, at most 1.5 MiB by default. */
const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

type OnEvent = (type: string, object: unknown) => void;
/** An object has more in it than is read, and is left out. */
type OnUnread = (because: string) => void;

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error(`its answer is longer than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The parsed JSON of an answer. Throws KubeError when it is not JSON. */
export async function readBody(response: IncomingMessage): Promise<unknown> {
  return parseJson(await readText(response));
}

/**
 * Passes on the items of a list one by one, each in a turn of its own, and returns the list without them. Throws
 * KubeError.
 */
export async function readItems(
  response: IncomingMessage,
  onItem: (item: unknown) => void,
  onUnread?: OnUnread,
): Promise<unknown> {
  let found: string[] = [];
  const splitter = new ListSplitter((text) => found.push(text));
  for await (const chunk of response as AsyncIterable<Buffer>) {
    splitter.push(chunk);
    for (const text of found) {
      unlessUnread(() => onItem(parseJson(text)), onUnread);
      await new Promise((resolve) => setImmediate(resolve));
    }
    found = [];
  }
  return parseJson(splitter.rest);
}

/**
 * Passes on the events, which are lines of JSON; other lines are left out. Throws KubeError for an event that is an
 * error.
 */
export async function readEvents(response: IncomingMessage, onEvent: OnEvent, onUnread?: OnUnread): Promise<void> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      parts.push(chunk.subarray(from, end));
      const line = Buffer.concat(parts).toString('utf8');
      unlessUnread(() => takeEvent(line, onEvent), onUnread);
      [parts, bytes, from] = [[], 0, end + 1];
    }
    parts.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > MAX_EVENT_BYTES)
      throw new KubeError(`the API server sent an event of more than ${MAX_EVENT_BYTES} bytes`, 0);
  }
}

/** An object that is not read costs no other: whoever may write one must not keep the rest from being seen. */
function unlessUnread(take: () => void, onUnread: OnUnread | undefined): void {
  try {
    take();
  } catch (error) {
    if (!onUnread || !(error instanceof KubeError && error.cause instanceof JsonBound)) throw error;
    onUnread(error.message);
  }
}

function takeEvent(line: string, onEvent: OnEvent): void {
  let event: JsonObject;
  try {
    event = asObject(parseBoundedJson(line, STORABLE_WORK));
  } catch (error) {
    if (error instanceof JsonBound) throw refuseJson(error);
    return;
  }
  const { type, object } = event;
  if (type === 'ERROR') {
    const { code, message } = asObject(object);
    throw new KubeError(explainStatus(Number(code), asString(message).slice(0, 500)), Number(code) || 0);
  }
  onEvent(asString(type), object);
}

/** Reads seconds; API servers do not use the form with a date. */
function readRetryAfter({ headers }: IncomingMessage): number | undefined {
  const text = headers['retry-after'];
  return text !== undefined && /^\d{1,4}$/.test(text) ? Number(text) * 1000 : undefined;
}

function parseJson(text: string): unknown {
  try {
    return parseBoundedJson(text, STORABLE_WORK);
  } catch (cause) {
    if (cause instanceof JsonBound) throw refuseJson(cause);
    throw new KubeError('the API server answered with something that is not JSON', 0, { cause });
  }
}

/** With its usual limit of 1.5 MiB for an object the API server stores none like that. */
function refuseJson(cause: JsonBound): KubeError {
  return new KubeError(`the API server answered with JSON that ${cause.message}`, 0, { cause });
}

/** The error that an answer without success stands for. */
export async function readFailure(response: IncomingMessage): Promise<KubeError> {
  const { statusCode: status = 0 } = response;
  const text = await readText(response);
  const retryAfterMs = readRetryAfter(response);
  let answer: { readonly message?: unknown; readonly reason?: unknown; readonly details?: unknown } = {};
  try {
    answer = (parseBoundedJson(text) as typeof answer | null) ?? {};
  } catch {
    // perhaps the page of a proxy in between
  }
  const message = typeof answer.message === 'string' ? answer.message.slice(0, 500) : '';
  return new KubeError(explainStatus(status, message), status, {
    ...(typeof answer.reason === 'string' && { reason: answer.reason }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    causes: readCauses(answer.details),
  });
}

/** Most causes of a failure that are kept. */
const MAX_CAUSES = 10;

function readCauses(details: unknown): KubeCause[] {
  return asArray(asObject(details)['causes'])
    .slice(0, MAX_CAUSES)
    .map(asObject)
    .map(({ reason, message }) => ({ reason: asString(reason), message: asString(message).slice(0, 500) }));
}
