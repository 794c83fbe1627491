/** Deadlines for machines under load; without load nothing takes nearly as long. */
export const patience = { deadlineMs: 60_000 };
