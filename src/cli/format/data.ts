import { escapeJson, escapeYaml, isUnshowable } from '../../core/show-text';

/** The formats for programs. */
export type DataFormat = 'json' | 'yaml';

/**
 * A value as one document, the same in both formats: CPU sets are lists in the kernel's format. Control characters are
 * escaped in the way of the format, so that the data is the same and a terminal does not obey it.
 */
export async function formatData(value: object, format: DataFormat): Promise<string> {
  if (format === 'json') return `${escapeJson(JSON.stringify(value, null, 2))}\n`;
  const { Document, visit } = await import('yaml');
  const document = new Document(JSON.parse(JSON.stringify(value)));
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && isUnshowable(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  return escapeYaml(document.toString({ lineWidth: 0 }));
}
