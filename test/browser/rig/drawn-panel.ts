/** A place on the dashboard: 24 columns, and rows of 30 pixels with gaps of 8. */
export interface GridPos {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

interface Head {
  readonly title: string;
  readonly gridPos: GridPos;
}

/** Seconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export type UnitId = 'short' | 's' | 'percentunit';

/** `right`: a table with the largest value of each series, the largest first. */
export type LegendPlace = 'none' | 'bottom' | 'right';

/** A point without a value is null. */
export interface DrawnSeries {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/** A value as it is shown: its text, and its colour by the thresholds. */
export interface DrawnValue {
  readonly text: string;
  readonly color: string;
}

/**
 * A panel with everything that is drawn of it: the answers to its queries, in the way that its options ask for. Times
 * are in seconds since 1970.
 */
export type DrawnPanel = Head &
  (
    | { readonly type: 'row' }
    | { readonly type: 'stat'; readonly value: DrawnValue }
    | {
        readonly type: 'timeseries';
        readonly unit: UnitId;
        readonly min: number | undefined;
        readonly isStacked: boolean;
        readonly fillOpacity: number;
        readonly span: Span;
        readonly legend: LegendPlace;
        readonly times: readonly number[];
        readonly series: readonly DrawnSeries[];
      }
    | {
        readonly type: 'state-timeline';
        readonly legend: LegendPlace;
        readonly states: readonly DrawnValue[];
        readonly times: readonly number[];
        readonly rows: readonly { readonly name: string; readonly values: readonly (DrawnValue | null)[] }[];
      }
    | {
        readonly type: 'heatmap';
        /** Unit of the bounds. */
        readonly unit: UnitId;
        /** Colours of the scheme; with none nothing is seen. */
        readonly colours: number;
        readonly times: readonly number[];
        /** The lowest first; `counts` of each bucket alone. */
        readonly buckets: readonly { readonly bound: string; readonly counts: readonly (number | null)[] }[];
      }
    | {
        readonly type: 'table';
        readonly columns: readonly string[];
        readonly rows: readonly (readonly { readonly text: string; readonly href?: string }[])[];
      }
  );
