"""Looks up known weaknesses of all that constraints.txt pins, by pip-audit.

Needs the network. Ends with 0 only if every package was looked up and none has a known weakness; with 1 if one has;
with 4 if the advisories could not be reached, for all packages or for some."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
UNREACHABLE = 4


def main() -> int:
    program = sys.argv[1] if len(sys.argv) > 1 else str(Path(sys.executable).with_name("pip-audit"))
    options = ["--requirement", str(ROOT / "constraints.txt"), "--no-deps", "--disable-pip", "--format", "json"]
    done = subprocess.run([program, *options, "--progress-spinner", "off"], capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        why = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        print(f"audit: nothing was checked: the advisories could not be reached ({why})", file=sys.stderr)
        return UNREACHABLE
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    weak = [(package, weakness) for package in packages for weakness in package.get("vulns", [])]
    for package, weakness in weak:
        fixed = ", ".join(weakness.get("fix_versions", [])) or "no version yet"
        print(f"{package['name']} {package['version']}: {weakness['id']}, fixed in {fixed}")
    print(f"audit: {len(packages) - len(unknown)} of {len(packages)} packages looked up, {len(weak)} known weaknesses")
    if weak:
        return 1
    if unknown or not packages:
        some = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        print(f"audit: the source of advisories gave no answer for {len(unknown)} packages: {some}", file=sys.stderr)
        return UNREACHABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
