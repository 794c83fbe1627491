import { decodeVersioned, type NoteFormat } from './durable-note';

const VERSION = 1;
const MAX_BYTES = 64 * 1024;

/** Resources that were published on a Node, and have to be removed from it. */
export interface PublishedOnNode {
  readonly nodeName: string;
}

export const publishedOnNodeFormat: NoteFormat<PublishedOnNode> = {
  encode: ({ nodeName }) => `${JSON.stringify({ version: VERSION, node: nodeName })}\n`,
  decode: (text) => decodeVersioned(text, VERSION, (document) => ({ nodeName: document.text('node') })),
  maxBytes: MAX_BYTES,
};
