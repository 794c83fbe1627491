import { html, type Html } from './html';

/** The parts that all documents share. */
export interface DocumentFrame {
  /** Absent when it is not known. */
  readonly nodeName: string | undefined;
  /** The address of the style sheet. */
  readonly style: string;
  /** The subject of a document beside the node itself. */
  readonly subject?: string;
  /** Elements of the head. */
  readonly head?: Html;
  /** Attributes of the root. */
  readonly root?: Html;
}

/** A document with this body. */
export function drawDocument({ nodeName, style, subject, head, root }: DocumentFrame, body: Html): Html {
  const title = [subject, nodeName, 'cpusetd'].filter((part) => part !== undefined).join(' · ');
  return html`<!doctype html>
    <html lang="en" ${root}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title}</title>
        <link rel="icon" type="image/svg+xml" href="/icon.svg" />
        <link rel="stylesheet" href="${style}" />
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html> `;
}

/** The picture of the page in tabs of a browser. */
export const ICON = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#33507a"/><path fill="#fff" d="M3 3h4v4H3zM9 9h4v4H9z"/><path fill="#9db7dc" d="M9 3h4v4H9zM3 9h4v4H3z"/></svg>`;
