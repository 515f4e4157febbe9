// Time: plays, stops, steps, repeats.

export class Player {
  time = 0;
  speed = 1;
  playing = false;
  loop = true;
  end = 0; // last time
  dt = 0.01; // of a step
  onChange: () => void = () => {};
  private last = 0;

  // how far it goes in `ms` milliseconds of the clock
  advance(ms: number): void {
    if (!this.playing) return;
    this.time += (ms / 1000) * this.speed;
    if (this.time <= this.end) return;
    if (this.loop && this.end > 0) {
      this.time %= this.end;
    } else {
      this.time = this.end;
      this.playing = false;
    }
  }

  tick(now: number): boolean {
    const before = this.time;
    const was = this.playing;
    // after a pause of the page, time does not jump
    if (this.playing) this.advance(Math.min(now - this.last, 100));
    this.last = now;
    return this.time !== before || was !== this.playing;
  }

  toggle(): void {
    if (!this.playing && this.time >= this.end) this.time = 0;
    this.playing = !this.playing;
    this.onChange();
  }

  seek(time: number): void {
    this.time = Math.min(Math.max(time, 0), this.end);
    this.onChange();
  }

  // whole steps from the state that is shown
  step(count: number): void {
    this.playing = false;
    const k = count > 0 ? Math.floor(this.time / this.dt + 1e-6) : Math.ceil(this.time / this.dt - 1e-6);
    this.seek((k + count) * this.dt);
  }
}

// The speed at which a motion takes a few seconds, among those of the menu.
export const speeds = [0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 4, 8, 16];

export function fittingSpeed(duration: number): number {
  if (duration > 2 && duration < 20) return 1;
  const wanted = duration / 4;
  return speeds.reduce((best, s) => (Math.abs(Math.log(s / wanted)) < Math.abs(Math.log(best / wanted)) ? s : best));
}
