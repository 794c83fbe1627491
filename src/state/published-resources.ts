import { noteFormat } from './durable-note';

const VERSION = 1;
const MAX_BYTES = 64 * 1024;

/** Resources that were published on a Node, and have to be removed from it. */
export interface PublishedOnNode {
  readonly nodeName: string;
}

export const publishedOnNodeFormat = noteFormat<PublishedOnNode>({
  version: VERSION,
  maxBytes: MAX_BYTES,
  encode: ({ nodeName }) => JSON.stringify({ version: VERSION, node: nodeName }),
  read: (document) => ({ nodeName: document.text('node') }),
});
