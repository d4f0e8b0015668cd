-- The least Spearman's rho that 2.5 % of the random orders of n without ties reach at most: exact below ten, above
-- 0.005 too high at most. NULL below five: not even the same order is as rare.
CREATE OR REPLACE MACRO least_rho(n) AS CASE n WHEN 5 THEN 1.0 WHEN 6 THEN 31 / 35 WHEN 7 THEN 11 / 14 WHEN 8 THEN 31 / 42
    WHEN 9 THEN 0.7 ELSE if(n < 5, NULL, 1.959964 / sqrt(n - 1)) END;
