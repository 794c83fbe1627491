import { Fields, ShapeError } from './fields';

const VERSION = 1;
export const MAX_PUBLISHED_RESOURCES_BYTES = 64 * 1024;

/** Resources that were published on a Node, and have to be removed from it. */
export interface PublishedOnNode {
  readonly nodeName: string;
}

export type DecodedPublishedOnNode =
  | { readonly ok: true; readonly published: PublishedOnNode }
  /** `because` follows the path in a sentence. */
  | { readonly ok: false; readonly because: string };

export function encodePublishedOnNode({ nodeName }: PublishedOnNode): string {
  return `${JSON.stringify({ version: VERSION, node: nodeName })}\n`;
}

/** Reads what `encodePublishedOnNode` wrote. Never throws, whatever the text. */
export function decodePublishedOnNode(text: string): DecodedPublishedOnNode {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, because: 'is not JSON, cut off or overwritten' };
  }
  try {
    const document = new Fields(value, 'the document');
    const version = document.number('version');
    if (version !== VERSION) return { ok: false, because: `has version ${version}, and ${VERSION} is read` };
    return { ok: true, published: { nodeName: document.text('node') } };
  } catch (error) {
    if (error instanceof ShapeError) return { ok: false, because: `is not of ours: ${error.message}` };
    throw error;
  }
}
