import type { Page } from 'playwright-core';

export interface Contrast {
  readonly text: string;
  readonly colours: string;
  readonly ratio: number;
  /** 3 for large texts, else 4.5 (WCAG 2.2, 1.4.3, level AA). */
  readonly needed: number;
}

/** The contrast of every visible text of the page with what lies behind it. */
export function measureContrast(page: Page): Promise<readonly Contrast[]> {
  return page.evaluate(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })!;
    const toRgba = (colour: string): readonly number[] => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const luminance = (rgb: readonly number[]): number => {
      const [r, g, b] = rgb.map((value) => {
        const part = value / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
    };
    const backOf = (element: Element): string => {
      for (let at: Element | null = element; at; at = at.parentElement) {
        const { backgroundColor } = getComputedStyle(at);
        if (toRgba(backgroundColor)[3] === 255) return backgroundColor;
      }
      return 'white';
    };
    const found: { text: string; colours: string; ratio: number; needed: number }[] = [];
    for (const element of document.querySelectorAll<HTMLElement>('body *')) {
      const text = [...element.childNodes]
        .map((node) => (node.nodeType === Node.TEXT_NODE ? node.textContent : ''))
        .join('')
        .trim();
      if (text === '' || element.getClientRects().length === 0) continue;
      const { color, fontSize, fontWeight } = getComputedStyle(element);
      const back = backOf(element);
      const [high, low] = [luminance(toRgba(color)), luminance(toRgba(back))].sort((a, b) => b - a) as [number, number];
      const size = parseFloat(fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700);
      found.push({
        text,
        colours: `${color} on ${back}`,
        ratio: (high + 0.05) / (low + 0.05),
        needed: isLarge ? 3 : 4.5,
      });
    }
    return found;
  });
}
